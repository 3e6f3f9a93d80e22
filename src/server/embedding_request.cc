#include "server/embedding_request.h"

#include <limits>

#include "server/json_fields.h"
#include "server/sampling_fields.h"
#include "server/unbuilt_fields.h"

namespace hearth {
namespace {

std::vector<Prompt> read_inputs(const boost::json::value& field, const std::string& name,
                                const EmbeddingLimits& limits, uint32_t vocabulary) {
  std::vector<Prompt> inputs = prompt_fields(field, name, limits.inputs, vocabulary);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].ids || !inputs[i].text.empty()) continue;
    throw RequestError(kInvalidValue, field.is_array() ? entry_name(name, i) : name,
                       "is empty: an embedding needs a text");
  }
  return inputs;
}

bool read_format(const boost::json::value& field, const std::string& name) {
  std::string format = text_field(field, name);
  if (format == "base64" || format == "float") return format == "base64";
  throw RequestError(kInvalidValue, name, "must be float or base64");
}

// Reads the field under its two names: a number of tokens, or -1 or true for as many as the model
// takes.
std::optional<uint32_t> read_truncation(const boost::json::object& object) {
  constexpr uint32_t kWhatTheModelTakes = std::numeric_limits<uint32_t>::max();
  constexpr const char* kTruncate = "truncate";
  constexpr const char* kTokens = "truncate_prompt_tokens";
  std::optional<uint32_t> most;
  if (const auto* truncate = find_field(object, kTruncate)) {
    if (bool_field(*truncate, kTruncate)) most = kWhatTheModelTakes;
  }
  if (const auto* tokens = find_field(object, kTokens)) {
    int64_t count = integer_field(*tokens, kTokens, -1, std::numeric_limits<int32_t>::max());
    if (count == 0) {
      throw RequestError(kInvalidValue, kTokens,
                         "is 0; it must be at least 1, or -1 for the model's limit");
    }
    most = count < 0 ? kWhatTheModelTakes : static_cast<uint32_t>(count);
  }
  return most;
}

}  // namespace

EmbeddingCall read_embedding_call(std::string_view body, const EmbeddingLimits& limits,
                                  uint32_t vocabulary, uint32_t width) {
  boost::json::object object = read_object(body, limits.depth);
  refuse_unbuilt(object, unbuilt_embedding_fields());
  EmbeddingCall call;
  call.inputs = read_inputs(require_field(object, "input", "input"), "input", limits, vocabulary);
  if (const auto* model = find_field(object, "model")) call.model = text_field(*model, "model");
  if (const auto* format = find_field(object, "encoding_format")) {
    call.base64 = read_format(*format, "encoding_format");
  }
  if (const auto* dimensions = find_field(object, "dimensions")) {
    call.dimensions = static_cast<uint32_t>(integer_field(*dimensions, "dimensions", 1, width));
  }
  call.truncate_to = read_truncation(object);
  return call;
}

std::vector<std::string_view> embedding_field_names() {
  std::vector<std::string_view> all = {"input",      "model",    "encoding_format",
                                       "dimensions", "truncate", "truncate_prompt_tokens"};
  for (const UnbuiltField& field : unbuilt_embedding_fields()) all.push_back(field.name);
  return all;
}

}  // namespace hearth
