// Translates a body of POST /api/chat or /api/generate (ollama's API) to the body of a chat
// completion, or of a completion for a raw prompt, that asks for the same;
// server/completion_request.h reads that one. docs/ollama.md has every field.
//
// Fields that are null count as missing. Those that would change the answer and are not built are
// refused. Other unknown ones are ignored, among them options that only set up a server.
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

// OllamaNames: translates names of fields in the made body to those in the client's body.
struct OllamaNames {
  OllamaRoute route = OllamaRoute::kChat;
  bool system = false;  // /api/generate: the first message is `system`

  // Translates a text that begins with a field's name: "top_p is ..." to "options.top_p is ...".
  std::string translated(std::string_view text) const;
  ApiError translated(ApiError error) const;
};

struct OllamaBody {
  OllamaNames names;
  size_t max_messages = 0;    // the limit on the body's messages
  bool chat = true;           // `made` is the body of a chat, else of a completion
  bool asks_nothing = false;  // no messages or no prompt: only load the model or give it back
  boost::json::object made;
  uint32_t context = 0;      // options.num_ctx
  bool must_reason = false;  // `think` is on
};

// Translates the client's body. Throws RequestError.
OllamaBody read_ollama_body(std::string_view body, OllamaRoute route, const RequestLimits& limits);

// Reads the made body. Throws RequestError; errors use the names of the client's body.
CompletionCall read_ollama_call(const OllamaBody& body, const SamplingParams& defaults,
                                const RequestLimits& limits, uint32_t vocabulary);

// Returns options.num_ctx of a body; 0 where it has none. Throws RequestError.
inline constexpr std::string_view kOllamaContext = "options.num_ctx";
uint32_t read_ollama_context(const boost::json::object& body);

// Return the names of all fields that the readers look at: of a route's body, and of its options.
std::vector<std::string_view> ollama_field_names(OllamaRoute route);
std::vector<std::string_view> ollama_option_names();

}  // namespace hearth
