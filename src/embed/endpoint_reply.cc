#include "embed/endpoint_reply.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/string.hpp>
#include <boost/json/value.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "base/base64.h"
#include "base/error.h"
#include "base/json_reader.h"
#include "engine/logits.h"

namespace hearth {
namespace {

namespace json = boost::json;

constexpr uint32_t kReplyDepth = 16;
constexpr size_t kMaxQuotedBytes = 200;

json::value read_reply(std::string_view text) {
  try {
    return read_json(text, kReplyDepth);
  } catch (const Error& error) {
    fail(ErrorCode::kResource, "the reply is not JSON: {}", error.what());
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
    if (!number) fail(ErrorCode::kResource, "a vector has an element that is not a number");
    if (std::abs(*number) > std::numeric_limits<float>::max()) {
      fail(ErrorCode::kResource, "a vector has an element that is not finite");
    }
    vector.push_back(static_cast<float>(*number));
  }
  return vector;
}

EmbedVector vector_of_base64(std::string_view text) {
  std::optional<std::string> bytes = base64_decode(text);
  if (!bytes || bytes->size() % sizeof(float) != 0) {
    fail(ErrorCode::kResource, "a vector is not base64-encoded floats");
  }
  EmbedVector vector(bytes->size() / sizeof(float));
  static_assert(std::endian::native == std::endian::little);
  if (!vector.empty()) std::memcpy(vector.data(), bytes->data(), bytes->size());
  return vector;
}

void normalise(EmbedVector* vector) {
  if (!all_finite(*vector)) {
    fail(ErrorCode::kResource, "a vector has an element that is not finite");
  }
  double squares = 0;
  for (float element : *vector) squares += double{element} * element;
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

// Returns the index of an item. Items without one are in the order of the texts.
size_t index_of(const json::object& item, size_t place, size_t count) {
  const json::value* value = item.if_contains("index");
  if (value == nullptr) return place;
  std::optional<double> index = number_of(*value);
  if (!index || !(*index >= 0) || !(*index < static_cast<double>(count)) ||
      *index != std::floor(*index)) {
    fail(ErrorCode::kResource, "an item of the reply has an index outside the {} texts", count);
  }
  return static_cast<size_t>(*index);
}

}  // namespace

std::vector<EmbedVector> read_embeddings(std::string_view text, size_t count, uint32_t width) {
  json::value reply = read_reply(text);
  const json::array& data = data_of(reply);
  if (data.size() != count) {
    fail(ErrorCode::kResource, "the reply has {} vectors for {} texts", data.size(), count);
  }
  std::vector<EmbedVector> vectors(count);
  for (size_t place = 0; place < count; ++place) {
    const json::object* item = data[place].if_object();
    if (item == nullptr) fail(ErrorCode::kResource, "an item of the reply is not an object");
    EmbedVector& vector = vectors[index_of(*item, place, count)];
    if (!vector.empty()) fail(ErrorCode::kResource, "two items of the reply have the same index");
    vector = vector_of(*item);
    if (width == 0) width = static_cast<uint32_t>(vector.size());
    if (vector.size() != width || width == 0) {
      fail(ErrorCode::kResource, "a vector of the reply has {} elements instead of {}",
           vector.size(), width);
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
    fail(ErrorCode::kResource, "the list of models is empty");
  }
  return {id->get_string().data(), id->get_string().size()};
}

std::string refusal_text(std::string_view body) {
  std::string said(body.substr(0, 4 * kMaxQuotedBytes));
  try {
    json::value reply = read_json(body, kReplyDepth);
    const json::object* object = reply.if_object();
    const json::value* error = object != nullptr ? object->if_contains("error") : nullptr;
    if (error != nullptr && error->is_object()) error = error->get_object().if_contains("message");
    if (error != nullptr && error->is_string()) {
      said = {error->get_string().data(), error->get_string().size()};
    }
  } catch (const Error&) {
    // A body that is not JSON is shown unchanged.
  }
  for (char& c : said) c = c >= ' ' && c <= '~' ? c : ' ';
  said.resize(std::min(said.size(), kMaxQuotedBytes));
  return said;
}

}  // namespace hearth
