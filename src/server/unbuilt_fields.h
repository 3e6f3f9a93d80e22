// The fields of requests that would change the answer and are not built, from OpenAI's API and from
// what vLLM, llama.cpp, ollama and text-generation-inference document. They are refused by name, so
// that no client takes an answer for one that respects them; values without effect are accepted.
// Fields that only tune an unbuilt feature (mirostat_tau, dry_base, ...) are ignored.
#pragma once

#include <boost/json/object.hpp>
#include <limits>
#include <span>
#include <string_view>

namespace hearth {

// The values of a field that have no effect; null never has one.
enum class Nothing : uint8_t {
  kEmpty,   // false, 0, "", [] and {}
  kTrue,    // true
  kNumber,  // numbers in [low, high]
  kWord,    // one of `words`
  kNull,
};

struct UnbuiltField {
  std::string_view name;
  Nothing nothing = Nothing::kEmpty;
  double low = std::numeric_limits<double>::lowest();
  double high = 0;
  std::string_view words = {};  // separated by spaces
  std::string_view remedy = "leave it out";
};

std::span<const UnbuiltField> unbuilt_fields();            // for both kinds of completion
std::span<const UnbuiltField> unbuilt_chat_fields();       // only for a chat
std::span<const UnbuiltField> unbuilt_text_fields();       // only for a text completion
std::span<const UnbuiltField> unbuilt_embedding_fields();  // for embeddings
std::span<const UnbuiltField> unbuilt_rerank_fields();     // for reranking
std::span<const UnbuiltField> unbuilt_ollama_fields();     // for ollama's chats and texts

// Throws RequestError where the body asks for one of these fields.
void refuse_unbuilt(const boost::json::object& body, std::span<const UnbuiltField> fields);

}  // namespace hearth
