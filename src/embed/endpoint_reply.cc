#include "embed/endpoint_reply.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/string.hpp>
#include <boost/json/value.hpp>
#include <cmath>
#include <limits>
#include <utility>

#include "base/error.h"
#include "text/json_reader.h"

namespace hearth {
namespace {

namespace json = boost::json;

constexpr uint32_t kReplyDepth = 16;
constexpr size_t kMostSaid = 200;

json::value read_reply(std::string_view text) {
  try {
    return read_json(text, kReplyDepth);
  } catch (const Error& error) {
    fail(ErrorCode::kResource, "the reply is no JSON: {}", error.what());
  }
}

const json::array& data_of(const json::value& reply) {
  const json::object* object = reply.if_object();
  const json::value* data = object != nullptr ? object->if_contains("data") : nullptr;
  if (data == nullptr || !data->is_array()) {
    fail(ErrorCode::kResource, "the reply has no array \"data\"");
  }
  return data->get_array();
}

std::optional<double> number_of(const json::value& value) {
  if (const double* real = value.if_double()) return *real;
  if (const int64_t* whole = value.if_int64()) return static_cast<double>(*whole);
  if (const uint64_t* whole = value.if_uint64()) return static_cast<double>(*whole);
  return std::nullopt;
}

EmbedVector vector_of_numbers(const json::array& numbers) {
  EmbedVector vector;
  vector.reserve(numbers.size());
  for (const json::value& value : numbers) {
    std::optional<double> number = number_of(value);
    if (!number) fail(ErrorCode::kResource, "a vector has an element that is no number");
    if (std::abs(*number) > std::numeric_limits<float>::max()) {
      fail(ErrorCode::kResource, "a vector has an element that is not finite");
    }
    vector.push_back(static_cast<float>(*number));
  }
  return vector;
}

EmbedVector vector_of_base64(std::string_view text) {
  std::optional<std::vector<uint8_t>> bytes = read_base64(text);
  if (!bytes || bytes->size() % sizeof(float) != 0) {
    fail(ErrorCode::kResource, "a vector is no base64 of floats");
  }
  EmbedVector vector(bytes->size() / sizeof(float));
  for (size_t i = 0; i < vector.size(); ++i) {
    const uint8_t* b = bytes->data() + i * sizeof(float);
    uint32_t bits =
        uint32_t{b[0]} | uint32_t{b[1]} << 8 | uint32_t{b[2]} << 16 | uint32_t{b[3]} << 24;
    vector[i] = std::bit_cast<float>(bits);
  }
  return vector;
}

void normalise(EmbedVector* vector) {
  double squares = 0;
  for (float element : *vector) {
    if (!std::isfinite(element)) {
      fail(ErrorCode::kResource, "a vector has an element that is not finite");
    }
    squares += double{element} * element;
  }
  if (squares == 0) fail(ErrorCode::kResource, "a vector is zero");
  double scale = 1 / std::sqrt(squares);
  for (float& element : *vector) element = static_cast<float>(element * scale);
}

EmbedVector vector_of(const json::object& item) {
  const json::value* embedding = item.if_contains("embedding");
  if (embedding != nullptr && embedding->is_array()) {
    return vector_of_numbers(embedding->get_array());
  }
  if (embedding != nullptr && embedding->is_string()) {
    const json::string& text = embedding->get_string();
    return vector_of_base64({text.data(), text.size()});
  }
  fail(ErrorCode::kResource, "an item of the reply has no vector \"embedding\"");
}

// Without an index items stand in the order of the texts.
size_t index_of(const json::object& item, size_t place, size_t count) {
  const json::value* value = item.if_contains("index");
  if (value == nullptr) return place;
  std::optional<double> index = number_of(*value);
  if (!index || !(*index >= 0) || !(*index < static_cast<double>(count)) ||
      *index != std::floor(*index)) {
    fail(ErrorCode::kResource, "an item of the reply has an index that none of {} texts has",
         count);
  }
  return static_cast<size_t>(*index);
}

int base64_digit(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+') return 62;
  return c == '/' ? 63 : -1;
}

}  // namespace

std::optional<std::vector<uint8_t>> read_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  size_t padding = 0;
  while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=') ++padding;
  std::string_view digits = text.substr(0, text.size() - padding);
  std::vector<uint8_t> bytes;
  bytes.reserve(text.size() / 4 * 3);
  uint32_t bits = 0;
  for (size_t i = 0; i < digits.size(); ++i) {
    int digit = base64_digit(digits[i]);
    if (digit < 0) return std::nullopt;
    bits = bits << 6 | static_cast<uint32_t>(digit);
    if (i % 4 > 0) bytes.push_back(static_cast<uint8_t>(bits >> (6 - 2 * (i % 4))));
  }
  // Bits that padding cuts off are zero.
  if (padding > 0 && (bits & ((1u << (2 * padding)) - 1)) != 0) return std::nullopt;
  return bytes;
}

std::vector<EmbedVector> read_embeddings(std::string_view text, size_t count, uint32_t width) {
  json::value reply = read_reply(text);
  const json::array& data = data_of(reply);
  if (data.size() != count) {
    fail(ErrorCode::kResource, "the reply has {} vectors for {} texts", data.size(), count);
  }
  std::vector<EmbedVector> vectors(count);
  for (size_t place = 0; place < count; ++place) {
    const json::object* item = data[place].if_object();
    if (item == nullptr) fail(ErrorCode::kResource, "an item of the reply is no object");
    EmbedVector& vector = vectors[index_of(*item, place, count)];
    if (!vector.empty()) fail(ErrorCode::kResource, "two items of the reply have one index");
    vector = vector_of(*item);
    if (width == 0) width = static_cast<uint32_t>(vector.size());
    if (vector.size() != width || width == 0) {
      fail(ErrorCode::kResource, "a vector of the reply has {} elements and not {}", vector.size(),
           width);
    }
    normalise(&vector);
  }
  return vectors;
}

std::string read_first_model(std::string_view text) {
  json::value reply = read_reply(text);
  const json::array& data = data_of(reply);
  const json::object* first = data.empty() ? nullptr : data[0].if_object();
  const json::value* id = first != nullptr ? first->if_contains("id") : nullptr;
  if (id == nullptr || !id->is_string() || id->get_string().empty()) {
    fail(ErrorCode::kResource, "the list of models names none");
  }
  return {id->get_string().data(), id->get_string().size()};
}

std::string refusal_text(std::string_view body) {
  std::string said(body.substr(0, 4 * kMostSaid));
  try {
    json::value reply = read_json(body, kReplyDepth);
    const json::object* object = reply.if_object();
    const json::value* error = object != nullptr ? object->if_contains("error") : nullptr;
    if (error != nullptr && error->is_object()) error = error->get_object().if_contains("message");
    if (error != nullptr && error->is_string()) {
      said = {error->get_string().data(), error->get_string().size()};
    }
  } catch (const Error&) {
    // It is no JSON: shown as it is.
  }
  for (char& c : said) c = c >= ' ' && c <= '~' ? c : ' ';
  said.resize(std::min(said.size(), kMostSaid));
  return said;
}

}  // namespace hearth
