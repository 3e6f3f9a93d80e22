#include "server/ollama_embedding.h"

#include <fmt/format.h>

#include <limits>
#include <utility>

#include "server/json_fields.h"
#include "server/ollama_request.h"
#include "server/sampling_fields.h"

namespace hearth {
namespace {

using boost::json::value;

std::vector<Prompt> read_texts(const value& field, const std::string& name, EmbeddingForm form,
                               const EmbeddingLimits& limits, uint32_t vocabulary) {
  if (field.is_string()) {
    std::string text = text_field(field, name);
    if (text.empty()) return {};
    return {{std::move(text)}};
  }
  if (form == EmbeddingForm::kOllamaPrompt) refuse_type(field, name, "a string");
  if (!field.is_array()) refuse_type(field, name, "a string or an array of strings");
  if (field.get_array().empty()) return {};
  std::vector<Prompt> inputs = prompt_fields(field, name, limits.inputs, vocabulary);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].ids) refuse_type(field.get_array()[i], entry_name(name, i), "a string");
    if (!inputs[i].text.empty()) continue;
    throw RequestError(kInvalidValue, entry_name(name, i), "is empty: an embedding needs a text");
  }
  return inputs;
}

}  // namespace

EmbeddingCall read_ollama_embedding(std::string_view body, EmbeddingForm form,
                                    const EmbeddingLimits& limits, uint32_t vocabulary,
                                    uint32_t width, uint32_t context) {
  const boost::json::object asked = read_object(body, limits.depth);
  const std::string texts = form == EmbeddingForm::kOllama ? "input" : "prompt";
  EmbeddingCall call;
  call.inputs = read_texts(require_field(asked, texts, texts), texts, form, limits, vocabulary);
  if (const value* model = find_field(asked, "model")) call.model = text_field(*model, "model");
  const uint32_t counts_on = read_ollama_context(asked);
  if (counts_on > context) {
    throw RequestError(kInvalidValue, kOllamaContext,
                       fmt::format("is {}, more than the model's context of {}: ask for less",
                                   counts_on, context));
  }
  call.truncate_to = std::numeric_limits<uint32_t>::max();
  if (form == EmbeddingForm::kOllamaPrompt) return call;
  if (const value* dimensions = find_field(asked, "dimensions")) {
    call.dimensions = static_cast<uint32_t>(integer_field(*dimensions, "dimensions", 1, width));
  }
  const value* truncate = find_field(asked, "truncate");
  if (truncate != nullptr && !bool_field(*truncate, "truncate")) call.truncate_to.reset();
  return call;
}

std::vector<std::string_view> ollama_embedding_field_names(EmbeddingForm form) {
  if (form == EmbeddingForm::kOllamaPrompt) return {"model", "prompt", "options", "keep_alive"};
  return {"model", "input", "truncate", "dimensions", "options", "keep_alive"};
}

}  // namespace hearth
