// Makes of a body of POST /api/chat or /api/generate (ollama's API) the body of a chat completion,
// or of a completion for a raw prompt, that asks for the same; server/completion_request.h reads
// that one. docs/ollama.md has every field.
//
// Fields that are null count as missing. Those that would change the answer and are not built are
// refused, other unknown ones ignored, options too: a server is set up once.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "http/api_error.h"
#include "server/completion_request.h"

namespace hearth {

enum class OllamaRoute : uint8_t { kChat, kGenerate };

// The names that fields of the made body have in the client's.
struct OllamaNames {
  OllamaRoute route = OllamaRoute::kChat;
  bool system = false;  // of generate: the first message is `system`

  // "options.top_p is ..." of "top_p is ...": a text that begins with the name of a field.
  std::string translated(std::string_view text) const;
  ApiError translated(ApiError error) const;
};

struct OllamaBody {
  OllamaNames names;
  size_t most_messages = 0;   // that are read
  bool chat = true;           // `made` is a chat's body, else a prompt's
  bool asks_nothing = false;  // but that the model is there: no messages, or no prompt
  boost::json::object made;
  uint32_t context = 0;      // options.num_ctx
  bool must_reason = false;  // `think` is on
};

// Throws RequestError.
OllamaBody read_ollama_body(std::string_view body, OllamaRoute route, const RequestLimits& limits);

// Reads the made body. Throws RequestError; errors, tools and the shape of the text are called as
// the client calls them.
CompletionCall read_ollama_call(const OllamaBody& body, const SamplingParams& defaults,
                                const RequestLimits& limits, uint32_t vocabulary);

// options.num_ctx of a body; 0 where it has none. Throws RequestError.
inline constexpr std::string_view kOllamaContext = "options.num_ctx";
uint32_t read_ollama_context(const boost::json::object& body);

// The names of all fields that are looked at: of a route, and of its options.
std::vector<std::string_view> ollama_field_names(OllamaRoute route);
std::vector<std::string_view> ollama_option_names();

}  // namespace hearth
