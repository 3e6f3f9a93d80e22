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
  uint32_t stop_bytes = 1024;  // of one stop string
  uint32_t biases = 1024;
  uint32_t choices = 16;
  uint32_t top_logprobs = 20;
  uint32_t depth = 80;    // of the JSON: a schema of 64 levels within
  uint32_t prompts = 64;  // of one request
  uint32_t tools = 128;
};

// The default of max_tokens in /v1/completions, which is OpenAI's; a chat goes on to the end of the
// context. Chat goes on to the end of the context.
inline constexpr uint32_t kTextMaxTokens = 16;

// Text, or the ids of tokens. Not a std::variant: where memory runs out while one with a string is
// copied, GCC 12's library frees what was never allocated.
struct Prompt {
  std::string text = {};
  std::optional<std::vector<int32_t>> ids = {};

  bool operator==(const Prompt&) const = default;
};

struct CompletionCall {
  bool chat = false;
  std::string model;  // as given; empty: none
  // The messages of a chat, as read_messages() makes them (server/chat_messages.h).
  boost::json::array messages;
  boost::json::object template_kwargs;  // with `tools`, those that the template shows
  // The tools that may be called in a chat, and how. The form of its content is in `shape` until
  // the prompt is made.
  TurnOrder turn;
  bool include_reasoning = true;
  // The prompts of /v1/completions; one that is text has no `ids`. Where there are none, the
  // request asks only whether the model is there.
  std::vector<Prompt> prompts;
  // The request to the engine, all but its `prompt` and `deliver`. The seed is 0 where none was
  // given.
  Request request;
  OutputShape shape;  // of the text, as the request says it
  bool seed_given = false;
  bool echo = false;
  bool generates = true;  // false: max_tokens is 0
  bool stream = false;
  bool include_usage = false, timings = false;
  bool ignore_eos = false;
  bool to_context = false;      // no max_tokens: as many as the context holds
  bool continue_final = false;  // of chat: the last message goes on
  uint32_t context = 0;         // positions that the client counts on
  bool must_reason = false;     // of chat: refused where the model's turns have no reasoning
};

// Throw RequestError. `vocabulary`: ids of tokens lie in [0, vocabulary).
CompletionCall read_chat_call(std::string_view body, const SamplingParams& defaults,
                              const RequestLimits& limits, uint32_t vocabulary);
CompletionCall read_chat_call(const boost::json::object& body, const SamplingParams& defaults,
                              const RequestLimits& limits, uint32_t vocabulary);
CompletionCall read_text_call(std::string_view body, const SamplingParams& defaults,
                              const RequestLimits& limits, uint32_t vocabulary);
CompletionCall read_text_call(const boost::json::object& body, const SamplingParams& defaults,
                              const RequestLimits& limits, uint32_t vocabulary);

// The names of all fields that these two look at, refused ones included.
std::vector<std::string_view> chat_field_names();
std::vector<std::string_view> text_field_names();

}  // namespace hearth
