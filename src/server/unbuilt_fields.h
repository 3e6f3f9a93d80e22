// The fields of requests that would change the answer and are not built, of OpenAI's API and of
// what vLLM, llama.cpp, ollama and text-generation-inference publish. They are refused by name, so
// that nobody takes an answer for one that keeps to them; a value that asks for nothing is
// accepted. The fields that tune one of these and do nothing alone (mirostat_tau, dry_base, ...)
// are ignored.
#pragma once

#include <boost/json/object.hpp>
#include <limits>
#include <span>
#include <string_view>

namespace hearth {

// The values of a field that ask for nothing; null always does.
enum class Nothing : uint8_t {
  kEmpty,   // false, 0, "", [] and {}
  kTrue,    // true
  kNumber,  // numbers from `low` to `high`
  kWord,    // one of `words`
  kNull,
};

struct UnbuiltField {
  std::string_view name;
  Nothing nothing = Nothing::kEmpty;
  double low = std::numeric_limits<double>::lowest();
  double high = 0;
  std::string_view words = {};  // with spaces between
  std::string_view remedy = "leave it out";
};

std::span<const UnbuiltField> unbuilt_fields();            // of both kinds of completion
std::span<const UnbuiltField> unbuilt_chat_fields();       // of a chat besides
std::span<const UnbuiltField> unbuilt_text_fields();       // of a text completion besides
std::span<const UnbuiltField> unbuilt_embedding_fields();  // of embeddings
std::span<const UnbuiltField> unbuilt_rerank_fields();     // of requests to rank documents
std::span<const UnbuiltField> unbuilt_ollama_fields();     // of ollama's chats and texts

// Throws RequestError where the body asks for one of them.
void refuse_unbuilt(const boost::json::object& body, std::span<const UnbuiltField> fields);

}  // namespace hearth
