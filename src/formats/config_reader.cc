#include "formats/config_reader.h"

#include <boost/json/serialize.hpp>
#include <cmath>
#include <limits>
#include <utility>

#include "base/error.h"
#include "base/json_reader.h"
#include "base/printable.h"

namespace hearth {
namespace {

boost::json::value read_document(const MappedFile& file, uint64_t max_bytes) {
  const std::string_view text(reinterpret_cast<const char*>(file.bytes().data()),
                              file.bytes().size());
  if (text.size() > max_bytes) {
    fail(ErrorCode::kFile, "'{}' has {} bytes, more than the limit of {}: download the file again",
         file.name(), text.size(), max_bytes);
  }
  try {
    return read_json(text);
  } catch (const Error& error) {
    fail(ErrorCode::kFile, "'{}': {}; the file is damaged, download it again", file.name(),
         error.what());
  }
}

// Returns null if the key is missing or its value is null.
const boost::json::value* find_in(const boost::json::object& object, std::string_view key) {
  const boost::json::value* value = object.if_contains({key.data(), key.size()});
  return value == nullptr || value->is_null() ? nullptr : value;
}

}  // namespace

boost::json::value read_json_file(const MappedFile& file, uint64_t max_bytes) {
  boost::json::value value = read_document(file, max_bytes);
  if (!value.is_object()) {
    fail(ErrorCode::kFile, "'{}' is not a JSON object; download the file again", file.name());
  }
  return value;
}

boost::json::value read_json_array(const MappedFile& file, uint64_t max_bytes) {
  boost::json::value value = read_document(file, max_bytes);
  if (!value.is_array()) {
    fail(ErrorCode::kFile, "'{}' is not a JSON array; download the file again", file.name());
  }
  return value;
}

const boost::json::value* ConfigReader::find(std::string_view key) const {
  const boost::json::value* value = find_in(object_, key);
  return value == nullptr && around_ != nullptr ? find_in(*around_, key) : value;
}

std::string ConfigReader::full(std::string_view key) const {
  const bool outside = around_ != nullptr && find_in(object_, key) == nullptr && has(key);
  return fmt::format("{}{}", outside ? "" : path_, key);
}

std::string ConfigReader::shown(std::string_view key) const {
  const boost::json::value* value = find(key);
  if (value == nullptr) return "missing";
  if (value->is_array()) return "an array";
  if (value->is_object()) return "an object";
  return printable(boost::json::serialize(*value));
}

void ConfigReader::refuse(std::string_view key, const std::string& wanted) const {
  fail(
      ErrorCode::kFile,
      "'{}' has {} = {}, but the value must be {}: the file is damaged or made for another program",
      file_, full(key), shown(key), wanted);
}

void ConfigReader::fail_unsupported(std::string_view key, const std::string& known) const {
  fail(ErrorCode::kUnsupported, "'{}' has {} = {}, which this version does not support: {}", file_,
       full(key), shown(key), known);
}

void ConfigReader::fail_missing(std::string_view key) const {
  fail(ErrorCode::kFile, "'{}' has no {}: the file is incomplete, download it again", file_,
       full(key));
}

std::optional<uint32_t> ConfigReader::count(std::string_view key, uint32_t most,
                                            uint32_t least) const {
  const boost::json::value* value = find(key);
  if (value == nullptr) return std::nullopt;
  // Some writers store whole numbers as floats.
  double number = -1;
  if (value->is_int64()) number = static_cast<double>(value->get_int64());
  if (value->is_uint64()) number = static_cast<double>(value->get_uint64());
  if (value->is_double()) number = value->get_double();
  if (number < least || number > most || number != std::floor(number)) {
    refuse(key, fmt::format("a whole number from {} to {}", least, most));
  }
  return static_cast<uint32_t>(number);
}

uint32_t ConfigReader::count_or(std::string_view key, uint32_t otherwise, uint32_t most,
                                uint32_t least) const {
  return count(key, most, least).value_or(otherwise);
}

uint32_t ConfigReader::need_count(std::string_view key, uint32_t most, uint32_t least) const {
  std::optional<uint32_t> value = count(key, most, least);
  if (!value) fail_missing(key);
  return *value;
}

std::optional<double> ConfigReader::real(std::string_view key) const {
  const boost::json::value* value = find(key);
  if (value == nullptr) return std::nullopt;
  double number = -1;
  if (value->is_number()) number = value->to_number<double>();
  constexpr double kMin = std::numeric_limits<float>::min();
  constexpr double kMax = std::numeric_limits<float>::max();
  if (!(number >= kMin && number <= kMax)) refuse(key, "a positive number");
  return number;
}

double ConfigReader::real_or(std::string_view key, double otherwise) const {
  return real(key).value_or(otherwise);
}

std::optional<bool> ConfigReader::flag(std::string_view key) const {
  const boost::json::value* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_bool()) refuse(key, "true or false");
  return value->get_bool();
}

bool ConfigReader::flag_or(std::string_view key, bool otherwise) const {
  return flag(key).value_or(otherwise);
}

std::optional<std::string> ConfigReader::text(std::string_view key) const {
  const boost::json::value* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_string()) refuse(key, "a string");
  const boost::json::string& text = value->get_string();
  return std::string(text.data(), text.size());
}

std::string ConfigReader::text_or(std::string_view key, const char* otherwise) const {
  return text(key).value_or(otherwise);
}

std::optional<ConfigReader> ConfigReader::object(std::string_view key) const {
  const boost::json::value* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_object()) refuse(key, "an object");
  return ConfigReader(value->get_object(), file_, full(key) + ".");
}

ConfigReader ConfigReader::inside(std::string_view key) const {
  ConfigReader reader = *object(key);
  reader.around_ = &object_;
  return reader;
}

std::optional<std::vector<ConfigReader>> ConfigReader::objects(std::string_view key) const {
  const boost::json::value* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_array()) refuse(key, "an array of objects");
  std::vector<ConfigReader> objects;
  for (const boost::json::value& element : value->get_array()) {
    if (!element.is_object()) refuse(key, "an array of objects");
    objects.emplace_back(element.get_object(), file_,
                         fmt::format("{}[{}].", full(key), objects.size()));
  }
  return objects;
}

std::optional<std::vector<std::string>> ConfigReader::texts(std::string_view key) const {
  const boost::json::value* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_array()) refuse(key, "an array of strings");
  std::vector<std::string> texts;
  for (const boost::json::value& element : value->get_array()) {
    if (!element.is_string()) refuse(key, "an array of strings");
    texts.emplace_back(element.get_string().data(), element.get_string().size());
  }
  return texts;
}

}  // namespace hearth
