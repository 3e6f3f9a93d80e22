// The parameters of a body of POST /v1/chat/completions or /v1/completions.
//
// Fields that are null count as missing. Fields that would change the answer and are not built are
// refused (server/unbuilt_fields.h), other unknown ones ignored.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "chat/turn_language.h"
#include "engine/request.h"
#include "grammar/output_shape.h"
#include "server/request_error.h"

namespace hearth {

struct RequestLimits {
  uint32_t messages = 2048;
  uint32_t stops = 16;
  uint32_t stop_bytes = 1024;  // the most bytes of one stop string
  uint32_t biases = 1024;
  uint32_t choices = 16;
  uint32_t top_logprobs = 20;
  uint32_t depth = 80;    // the most levels of the JSON, so that a schema may have 64
  uint32_t prompts = 64;  // the most prompts in one request
  uint32_t tools = 128;
};

// The default of max_tokens in /v1/completions, as in OpenAI's API. A chat without max_tokens may
// fill the context.
inline constexpr uint32_t kTextMaxTokens = 16;

// A prompt: text, or token ids. It is no std::variant: if memory runs out while one with a string
// is copied, GCC 12's library frees memory that was never allocated.
struct Prompt {
  std::string text = {};
  std::optional<std::vector<int32_t>> ids = {};

  bool operator==(const Prompt&) const = default;
};

struct CompletionCall {
  bool chat = false;
  std::string model;  // as the client gave it; empty: not given
  // The messages of a chat, as read_messages() makes them (server/chat_messages.h).
  boost::json::array messages;
  boost::json::object template_kwargs;  // the template's variables, with the `tools` that it shows
  // The tools of a chat and how they may be called. Its `answer` stays empty until the prompt is
  // made; until then the form of the content is in `shape`, below.
  TurnOrder turn;
  bool include_reasoning = true;
  // The prompts of /v1/completions; one given as text has no `ids`. Empty: the request only asks
  // whether the model is there.
  std::vector<Prompt> prompts;
  // The request to the engine, except `prompt` and `deliver`. The seed is 0 where the client gave
  // none.
  Request request;
  OutputShape shape;  // the form of the text that the client asks for
  bool seed_given = false;
  bool echo = false;
  bool generates = true;  // false: max_tokens is 0, so nothing is generated
  bool stream = false;
  bool include_usage = false, timings = false;
  bool ignore_eos = false;
  bool to_context = false;      // no max_tokens: up to the end of the context
  bool continue_final = false;  // of a chat: generation continues the last message
  uint32_t context = 0;         // the context length that the client expects (num_ctx)
  bool must_reason = false;     // of a chat: refuse it if the model's turns have no reasoning
};

// Reads the body of a chat or a completion. Throws RequestError. `vocabulary`: token ids lie in [0,
// vocabulary).
CompletionCall read_chat_call(std::string_view body, const SamplingParams& defaults,
                              const RequestLimits& limits, uint32_t vocabulary);
CompletionCall read_chat_call(const boost::json::object& body, const SamplingParams& defaults,
                              const RequestLimits& limits, uint32_t vocabulary);
CompletionCall read_text_call(std::string_view body, const SamplingParams& defaults,
                              const RequestLimits& limits, uint32_t vocabulary);
CompletionCall read_text_call(const boost::json::object& body, const SamplingParams& defaults,
                              const RequestLimits& limits, uint32_t vocabulary);

// Returns the names of all fields that read_chat_call() and read_text_call() look at, including
// those they refuse.
std::vector<std::string_view> chat_field_names();
std::vector<std::string_view> text_field_names();

}  // namespace hearth
