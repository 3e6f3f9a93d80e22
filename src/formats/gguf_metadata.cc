#include "formats/gguf_metadata.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "formats/printable.h"

namespace hearth {

namespace {

// Calls use(number) with the value at `from` in its own type; not for strings and arrays.
template <typename Use>
auto with_number(GgufType type, const std::byte* from, Use use) {
  switch (type) {
    case GgufType::kUint8:
      return use(gguf_load<uint8_t>(from));
    case GgufType::kInt8:
      return use(gguf_load<int8_t>(from));
    case GgufType::kUint16:
      return use(gguf_load<uint16_t>(from));
    case GgufType::kInt16:
      return use(gguf_load<int16_t>(from));
    case GgufType::kUint32:
      return use(gguf_load<uint32_t>(from));
    case GgufType::kInt32:
      return use(gguf_load<int32_t>(from));
    case GgufType::kUint64:
      return use(gguf_load<uint64_t>(from));
    case GgufType::kInt64:
      return use(gguf_load<int64_t>(from));
    case GgufType::kFloat32:
      return use(gguf_load<float>(from));
    case GgufType::kFloat64:
      return use(gguf_load<double>(from));
    case GgufType::kBool:
      return use(gguf_load<uint8_t>(from) != 0);
    case GgufType::kString:
    case GgufType::kArray:
      break;
  }
  check_failed(__FILE__, __LINE__, "type", "not the type of a number");
}

// The string at `bytes[at]`, behind its length; moves `at` past it.
std::string_view next_string(std::span<const std::byte> bytes, size_t& at) {
  uint64_t length = gguf_load<uint64_t>(&bytes[at]);
  at += sizeof(length);
  auto text = bytes.subspan(at, length);
  at += length;
  return {reinterpret_cast<const char*>(text.data()), text.size()};
}

std::string_view whole_string(const GgufValue& value) {
  return {reinterpret_cast<const char*>(value.payload.data()), value.payload.size()};
}

// What get<T> reads: the name for messages and the types of the file that will do.
template <typename T>
struct Wanted;

template <typename T>
requires std::is_arithmetic_v<T>
struct Wanted<T> {
  static std::string name() { return std::string(gguf_type_name(gguf_type_of<T>())); }
  static bool accepts(GgufType type) {
    if (type == GgufType::kString || type == GgufType::kArray) return false;
    if (std::is_same_v<T, bool>) return type == GgufType::kBool;
    bool is_float = type == GgufType::kFloat32 || type == GgufType::kFloat64;
    if (std::is_floating_point_v<T>) return is_float;
    return type != GgufType::kBool && !is_float;
  }
  // Nothing where the number has no place in T.
  static std::optional<T> convert(GgufType type, const std::byte* from) {
    return with_number(type, from, [](auto number) -> std::optional<T> {
      using Number = decltype(number);
      if constexpr (std::is_integral_v<T> && std::is_integral_v<Number> &&
                    !std::is_same_v<T, bool> && !std::is_same_v<Number, bool>) {
        if (!std::in_range<T>(number)) return std::nullopt;
      } else if constexpr (std::is_same_v<T, float> && std::is_same_v<Number, double>) {
        constexpr double kMax = std::numeric_limits<float>::max();
        if (std::isfinite(number) && std::abs(number) > kMax) return std::nullopt;
      }
      return static_cast<T>(number);
    });
  }
};

template <typename T>
requires std::is_same_v<T, std::string> || std::is_same_v<T, std::string_view>
struct Wanted<T> {
  static std::string name() { return "string"; }
  static bool accepts(GgufType type) { return type == GgufType::kString; }
};

[[noreturn]] void fail_type(const std::string& file, std::string_view key, const GgufValue& value,
                            const std::string& wanted) {
  fail(ErrorCode::kFile,
       "'{}': metadata key '{}' is of type {} where {} is wanted; convert the model again", file,
       printable(key), gguf_value_type_text(value), wanted);
}

template <typename T>
T convert_number(const std::string& file, std::string_view key, GgufType type,
                 const std::byte* from) {
  if (std::optional<T> number = Wanted<T>::convert(type, from)) return *number;
  fail(ErrorCode::kFile,
       "'{}': metadata key '{}' holds {}, beyond the range of {}; convert the model again", file,
       printable(key), with_number(type, from, [](auto n) { return fmt::format("{}", n); }),
       Wanted<T>::name());
}

// One value; arrays are the specialisation below.
template <typename T>
struct Read {
  static T from(const std::string& file, std::string_view key, const GgufValue& value) {
    if (!Wanted<T>::accepts(value.type)) fail_type(file, key, value, Wanted<T>::name());
    if constexpr (std::is_arithmetic_v<T>) {
      return convert_number<T>(file, key, value.type, value.payload.data());
    } else {
      return T(whole_string(value));
    }
  }
};

template <typename T>
struct Read<std::vector<T>> {
  static std::vector<T> from(const std::string& file, std::string_view key,
                             const GgufValue& value) {
    if (!value.is_array() || !Wanted<T>::accepts(value.element_type)) {
      fail_type(file, key, value, "array of " + Wanted<T>::name());
    }
    std::vector<T> out;
    // The reader of the file saw to it that all elements are there, so the count is honest.
    out.reserve(value.count);
    size_t at = 0;
    for (uint64_t i = 0; i < value.count; ++i) {
      if constexpr (std::is_arithmetic_v<T>) {
        out.push_back(convert_number<T>(file, key, value.element_type, &value.payload[at]));
        at += gguf_type_bytes(value.element_type);
      } else {
        out.emplace_back(next_string(value.payload, at));
      }
    }
    return out;
  }
};

}  // namespace

std::string gguf_value_type_text(const GgufValue& value) {
  if (!value.is_array()) return std::string(gguf_type_name(value.type));
  return fmt::format("array of {}", gguf_type_name(value.element_type));
}

std::string gguf_value_text(const GgufValue& value, size_t max_elements, size_t max_bytes) {
  auto element = [&](GgufType type, size_t& at) {
    if (type == GgufType::kString) {
      return fmt::format("\"{}\"", printable(next_string(value.payload, at), max_bytes));
    }
    const std::byte* from = &value.payload[at];
    at += gguf_type_bytes(type);
    return with_number(type, from, [](auto number) { return fmt::format("{}", number); });
  };
  size_t at = 0;
  if (value.type == GgufType::kString) {
    return fmt::format("\"{}\"", printable(whole_string(value), max_bytes));
  }
  if (!value.is_array()) return element(value.type, at);
  std::string text = "[";
  for (uint64_t i = 0; i < value.count && i < max_elements; ++i) {
    if (i > 0) text += ", ";
    text += element(value.element_type, at);
  }
  if (value.count > max_elements) text += fmt::format(", ... ({} values)", value.count);
  return text + "]";
}

GgufMetadata::GgufMetadata(std::string file, std::vector<GgufEntry> entries)
    : file_(std::move(file)), entries_(std::move(entries)), by_key_(entries_.size()) {
  std::iota(by_key_.begin(), by_key_.end(), 0u);
  std::sort(by_key_.begin(), by_key_.end(),
            [&](uint32_t a, uint32_t b) { return entries_[a].key < entries_[b].key; });
  for (size_t i = 1; i < by_key_.size(); ++i) {
    std::string_view key = entries_[by_key_[i]].key;
    if (key != entries_[by_key_[i - 1]].key) continue;
    fail(ErrorCode::kFile, "'{}': metadata key '{}' stands twice; convert the model again", file_,
         printable(key));
  }
}

const GgufValue* GgufMetadata::find(std::string_view key) const {
  auto at = std::lower_bound(
      by_key_.begin(), by_key_.end(), key,
      [&](uint32_t index, std::string_view wanted) { return entries_[index].key < wanted; });
  if (at == by_key_.end() || entries_[*at].key != key) return nullptr;
  return &entries_[*at].value;
}

template <typename T>
std::optional<T> GgufMetadata::get(std::string_view key) const {
  const GgufValue* value = find(key);
  if (!value) return std::nullopt;
  return Read<T>::from(file_, key, *value);
}

void GgufMetadata::fail_missing(std::string_view key) const {
  fail(ErrorCode::kFile,
       "'{}': metadata key '{}' is missing; the file is incomplete, convert the model again", file_,
       printable(key));
}

template std::optional<bool> GgufMetadata::get(std::string_view) const;
template std::optional<int8_t> GgufMetadata::get(std::string_view) const;
template std::optional<uint8_t> GgufMetadata::get(std::string_view) const;
template std::optional<int16_t> GgufMetadata::get(std::string_view) const;
template std::optional<uint16_t> GgufMetadata::get(std::string_view) const;
template std::optional<int32_t> GgufMetadata::get(std::string_view) const;
template std::optional<uint32_t> GgufMetadata::get(std::string_view) const;
template std::optional<int64_t> GgufMetadata::get(std::string_view) const;
template std::optional<uint64_t> GgufMetadata::get(std::string_view) const;
template std::optional<float> GgufMetadata::get(std::string_view) const;
template std::optional<double> GgufMetadata::get(std::string_view) const;
template std::optional<std::string> GgufMetadata::get(std::string_view) const;
template std::optional<std::string_view> GgufMetadata::get(std::string_view) const;
template std::optional<std::vector<bool>> GgufMetadata::get(std::string_view) const;
template std::optional<std::vector<int8_t>> GgufMetadata::get(std::string_view) const;
template std::optional<std::vector<uint8_t>> GgufMetadata::get(std::string_view) const;
template std::optional<std::vector<int16_t>> GgufMetadata::get(std::string_view) const;
template std::optional<std::vector<uint16_t>> GgufMetadata::get(std::string_view) const;
template std::optional<std::vector<int32_t>> GgufMetadata::get(std::string_view) const;
template std::optional<std::vector<uint32_t>> GgufMetadata::get(std::string_view) const;
template std::optional<std::vector<int64_t>> GgufMetadata::get(std::string_view) const;
template std::optional<std::vector<uint64_t>> GgufMetadata::get(std::string_view) const;
template std::optional<std::vector<float>> GgufMetadata::get(std::string_view) const;
template std::optional<std::vector<double>> GgufMetadata::get(std::string_view) const;
template std::optional<std::vector<std::string>> GgufMetadata::get(std::string_view) const;
template std::optional<std::vector<std::string_view>> GgufMetadata::get(std::string_view) const;

}  // namespace hearth
