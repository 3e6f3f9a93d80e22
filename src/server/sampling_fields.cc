#include "server/sampling_fields.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <string_view>

#include "base/printable.h"
#include "server/json_fields.h"

namespace hearth {
namespace {

std::string stop_field(const boost::json::value& value, const std::string& param, size_t bytes) {
  std::string stop = text_field(value, param);
  if (stop.empty()) throw RequestError(kInvalidValue, param, "is an empty string; leave it out");
  if (stop.size() > bytes) {
    throw RequestError(kInvalidValue, param,
                       fmt::format("has {} bytes; it may have at most {}", stop.size(), bytes));
  }
  return stop;
}

// Reads a token id as a member's name: only plain decimal digits, so that no id can occur twice in
// an object.
int32_t bias_token(std::string_view key, const std::string& param, uint32_t vocabulary) {
  uint32_t token = 0;
  auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), token);
  bool plain =
      error == std::errc() && end == key.data() + key.size() && (key == "0" || key.front() != '0');
  if (!plain || token >= vocabulary) {
    throw RequestError(kInvalidValue, param,
                       fmt::format("names token '{}'; ids are the integers from 0 to {}",
                                   printable(key, 40), int64_t{vocabulary} - 1));
  }
  return static_cast<int32_t>(token);
}

Prompt prompt_field(const boost::json::value& value, const std::string& param,
                    uint32_t vocabulary) {
  if (value.is_string()) return {text_field(value, param)};
  if (!value.is_array()) refuse_type(value, param, "a string or an array of ids");
  constexpr size_t kAny = std::numeric_limits<size_t>::max();
  return {{}, ids_field(array_field(value, param, 1, kAny), param, vocabulary)};
}

}  // namespace

std::vector<std::string> stop_fields(const boost::json::value& value, const std::string& param,
                                     size_t most, size_t bytes) {
  if (value.is_string()) return {stop_field(value, param, bytes)};
  if (!value.is_array()) refuse_type(value, param, "a string or an array of strings");
  const boost::json::array& array = array_field(value, param, 0, most);
  std::vector<std::string> stops;
  for (size_t i = 0; i < array.size(); ++i) {
    stops.push_back(stop_field(array[i], entry_name(param, i), bytes));
  }
  return stops;
}

std::vector<std::pair<int32_t, float>> bias_fields(const boost::json::value& value,
                                                   const std::string& param, size_t most,
                                                   uint32_t vocabulary) {
  const boost::json::object& object = object_field(value, param);
  if (object.size() > most) {
    throw RequestError(kInvalidValue, param,
                       fmt::format("has {} entries; it may have at most {}", object.size(), most));
  }
  std::vector<std::pair<int32_t, float>> biases;
  for (const auto& member : object) {
    std::string_view key(member.key().data(), member.key().size());
    int32_t token = bias_token(key, param, vocabulary);
    double bias = real_field(member.value(), fmt::format("{}.{}", param, token), -100, 100);
    biases.emplace_back(token, bias == -100 ? -INFINITY : static_cast<float>(bias));
  }
  return biases;
}

std::vector<Prompt> prompt_fields(const boost::json::value& value, const std::string& param,
                                  size_t most, uint32_t vocabulary) {
  if (!value.is_array()) {
    if (!value.is_string()) refuse_type(value, param, "a string or an array");
    return {prompt_field(value, param, vocabulary)};
  }
  bool ids = !value.get_array().empty() && value.get_array()[0].is_number();
  if (ids) return {prompt_field(value, param, vocabulary)};
  const boost::json::array& array = array_field(value, param, 1, most);
  std::vector<Prompt> prompts;
  for (size_t i = 0; i < array.size(); ++i) {
    prompts.push_back(prompt_field(array[i], entry_name(param, i), vocabulary));
  }
  return prompts;
}

std::vector<int32_t> ids_field(const boost::json::array& array, const std::string& param,
                               uint32_t vocabulary) {
  std::vector<int32_t> ids;
  ids.reserve(array.size());
  for (size_t i = 0; i < array.size(); ++i) {
    const boost::json::value& value = array[i];
    // The common case comes first: making every entry's name for errors would cost more than
    // reading the id.
    bool good = value.is_int64() && value.get_int64() >= 0 && value.get_int64() < vocabulary;
    ids.push_back(good ? static_cast<int32_t>(value.get_int64())
                       : token_field(value, entry_name(param, i), vocabulary));
  }
  return ids;
}

}  // namespace hearth
