#include "formats/metadata.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "base/printable.h"

namespace hearth {

namespace {

struct TypeInfo {
  std::string_view name;
  size_t bytes;
};

constexpr std::array<TypeInfo, kMetaTypeCount> kTypes = {{{"uint8", 1},
                                                          {"int8", 1},
                                                          {"uint16", 2},
                                                          {"int16", 2},
                                                          {"uint32", 4},
                                                          {"int32", 4},
                                                          {"float32", 4},
                                                          {"bool", 1},
                                                          {"string", 0},
                                                          {"array", 0},
                                                          {"uint64", 8},
                                                          {"int64", 8},
                                                          {"float64", 8}}};

const TypeInfo& type_info(MetaType type) {
  auto number = static_cast<uint32_t>(type);
  HEARTH_CHECK(number < kMetaTypeCount, "not a MetaType");
  return kTypes[number];
}

// Returns the string whose length stands at `bytes[at]`; moves `at` past it.
std::string_view next_string(std::span<const std::byte> bytes, size_t& at) {
  uint64_t length = load_number<uint64_t>(&bytes[at]);
  at += sizeof(length);
  auto text = bytes.subspan(at, length);
  at += length;
  return {reinterpret_cast<const char*>(text.data()), text.size()};
}

std::string_view whole_string(const MetaValue& value) {
  return {reinterpret_cast<const char*>(value.payload.data()), value.payload.size()};
}

// Gives the name of the wanted type for get<T>'s messages, and says which of the file's types are
// accepted.
template <typename T>
struct Wanted;

template <typename T>
requires std::is_arithmetic_v<T>
struct Wanted<T> {
  static std::string name() { return std::string(meta_type_name(meta_type_of<T>())); }
  static bool accepts(MetaType type) {
    if (type == MetaType::kString || type == MetaType::kArray) return false;
    if (std::is_same_v<T, bool>) return type == MetaType::kBool;
    bool is_float = type == MetaType::kFloat32 || type == MetaType::kFloat64;
    if (std::is_floating_point_v<T>) return is_float;
    return type != MetaType::kBool && !is_float;
  }
  // Returns the number as T; none if T cannot hold it.
  static std::optional<T> convert(MetaType type, const std::byte* from) {
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
  static bool accepts(MetaType type) { return type == MetaType::kString; }
};

[[noreturn]] void fail_type(const std::string& file, std::string_view key, const MetaValue& value,
                            const std::string& wanted) {
  fail(ErrorCode::kFile,
       "'{}': metadata key '{}' has the type {} instead of {}; convert the model again", file,
       printable(key), meta_value_type_text(value), wanted);
}

template <typename T>
T convert_number(const std::string& file, std::string_view key, MetaType type,
                 const std::byte* from) {
  if (std::optional<T> number = Wanted<T>::convert(type, from)) return *number;
  fail(ErrorCode::kFile,
       "'{}': metadata key '{}' holds {}, beyond the range of {}; convert the model again", file,
       printable(key), with_number(type, from, [](auto n) { return fmt::format("{}", n); }),
       Wanted<T>::name());
}

// Reads one value as T; arrays are the specialisation below.
template <typename T>
struct Read {
  static T from(const std::string& file, std::string_view key, const MetaValue& value) {
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
                             const MetaValue& value) {
    if (!value.is_array() || !Wanted<T>::accepts(value.element_type)) {
      fail_type(file, key, value, "array of " + Wanted<T>::name());
    }
    std::vector<T> out;
    // The file's reader checked that all elements are there, so the count is safe to reserve.
    out.reserve(value.count);
    size_t at = 0;
    for (uint64_t i = 0; i < value.count; ++i) {
      if constexpr (std::is_arithmetic_v<T>) {
        out.push_back(convert_number<T>(file, key, value.element_type, &value.payload[at]));
        at += meta_type_bytes(value.element_type);
      } else {
        out.emplace_back(next_string(value.payload, at));
      }
    }
    return out;
  }
};

}  // namespace

std::string_view meta_type_name(MetaType type) { return type_info(type).name; }

size_t meta_type_bytes(MetaType type) { return type_info(type).bytes; }

std::string meta_value_type_text(const MetaValue& value) {
  if (!value.is_array()) return std::string(meta_type_name(value.type));
  return fmt::format("array of {}", meta_type_name(value.element_type));
}

std::string meta_value_text(const MetaValue& value, size_t max_elements, size_t max_bytes) {
  auto element = [&](MetaType type, size_t& at) {
    if (type == MetaType::kString) {
      return fmt::format("\"{}\"", printable(next_string(value.payload, at), max_bytes));
    }
    const std::byte* from = &value.payload[at];
    at += meta_type_bytes(type);
    return with_number(type, from, [](auto number) { return fmt::format("{}", number); });
  };
  size_t at = 0;
  if (value.type == MetaType::kString) {
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

Metadata::Metadata(std::string file, std::vector<MetaEntry> entries)
    : file_(std::move(file)), entries_(std::move(entries)), by_key_(entries_.size()) {
  std::iota(by_key_.begin(), by_key_.end(), 0u);
  std::sort(by_key_.begin(), by_key_.end(),
            [&](uint32_t a, uint32_t b) { return entries_[a].key < entries_[b].key; });
  for (size_t i = 1; i < by_key_.size(); ++i) {
    std::string_view key = entries_[by_key_[i]].key;
    if (key != entries_[by_key_[i - 1]].key) continue;
    fail(ErrorCode::kFile, "'{}': metadata key '{}' appears twice; convert the model again", file_,
         printable(key));
  }
}

const MetaValue* Metadata::find(std::string_view key) const {
  auto at = std::lower_bound(
      by_key_.begin(), by_key_.end(), key,
      [&](uint32_t index, std::string_view wanted) { return entries_[index].key < wanted; });
  if (at == by_key_.end() || entries_[*at].key != key) return nullptr;
  return &entries_[*at].value;
}

template <typename T>
std::optional<T> Metadata::get(std::string_view key) const {
  const MetaValue* value = find(key);
  if (!value) return std::nullopt;
  return Read<T>::from(file_, key, *value);
}

template <typename T>
std::optional<T> Metadata::of_layer(std::string_view key, size_t layer) const {
  const MetaValue* value = find(key);
  if (value == nullptr || !value->is_array()) return get<T>(key);
  const MetaType type = value->element_type;
  if (!Wanted<T>::accepts(type)) fail_type(file_, key, *value, "array of " + Wanted<T>::name());
  if (layer >= value->count) fail_short(key, *value, layer);
  return convert_number<T>(file_, key, type, &value->payload[layer * meta_type_bytes(type)]);
}

void Metadata::fail_missing(std::string_view key) const {
  fail(ErrorCode::kFile,
       "'{}': metadata key '{}' is missing; the file is incomplete, convert the model again", file_,
       printable(key));
}

void Metadata::fail_short(std::string_view key, const MetaValue& value, size_t layer) const {
  fail(ErrorCode::kFile,
       "'{}': metadata key '{}' has values for {} layers, but none for layer {}; the file is "
       "incomplete, convert the model again",
       file_, printable(key), value.count, layer);
}

#define HEARTH_METADATA_GET(T)                                         \
  template std::optional<T> Metadata::get(std::string_view key) const; \
  template std::optional<std::vector<T>> Metadata::get(std::string_view key) const;
HEARTH_METADATA_GET(bool)
HEARTH_METADATA_GET(int8_t)
HEARTH_METADATA_GET(uint8_t)
HEARTH_METADATA_GET(int16_t)
HEARTH_METADATA_GET(uint16_t)
HEARTH_METADATA_GET(int32_t)
HEARTH_METADATA_GET(uint32_t)
HEARTH_METADATA_GET(int64_t)
HEARTH_METADATA_GET(uint64_t)
HEARTH_METADATA_GET(float)
HEARTH_METADATA_GET(double)
HEARTH_METADATA_GET(std::string)
HEARTH_METADATA_GET(std::string_view)
#undef HEARTH_METADATA_GET
template std::optional<bool> Metadata::of_layer(std::string_view key, size_t layer) const;
template std::optional<uint32_t> Metadata::of_layer(std::string_view key, size_t layer) const;
template std::optional<float> Metadata::of_layer(std::string_view key, size_t layer) const;

}  // namespace hearth
