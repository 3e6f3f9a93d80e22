// Fuzzes request bodies with hostile bytes. Only RequestError may be thrown, with a JSON body below
// 1 KiB, and a request that is accepted is within the limits. Bytes that begin no object are used
// as the text of replies: every body and event must be JSON, however the text is cut into tokens.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/json_reader.h"
#include "chat/turn_format.h"
#include "server/completion_request.h"
#include "server/messages_request.h"
#include "server/ollama_embedding.h"
#include "server/ollama_request.h"
#include "server/reply_bodies.h"
#include "server/rerank_request.h"
#include "server/responses_request.h"
#include "server/text_calls.h"
#include "server/turn_history.h"
#include "tokenizer/test_vocab.h"
#include "tokenizer/text_stream.h"

namespace hearth {
namespace {

constexpr uint32_t kVocabulary = 300;

void check_prompt(const Prompt& prompt) {
  if (!prompt.ids) return;
  HEARTH_CHECK(!prompt.ids->empty(), "a prompt of ids has some");
  for (int32_t id : *prompt.ids) {
    HEARTH_CHECK(id >= 0 && id < int32_t{kVocabulary}, "ids are in range");
  }
}

void check_call(const CompletionCall& call) {
  RequestLimits limits;
  const Request& request = call.request;
  HEARTH_CHECK(request.choices >= 1 && request.choices <= limits.choices, "n is in range");
  HEARTH_CHECK(request.stops.size() <= limits.stops, "stops are few");
  HEARTH_CHECK(request.top_logprobs <= limits.top_logprobs, "top_logprobs are few");
  HEARTH_CHECK(request.logprobs || request.top_logprobs == 0, "both are wanted or none");
  const SamplingParams& sampling = request.sampling;
  HEARTH_CHECK(sampling.temperature >= 0 && sampling.temperature <= 2, "it is in range");
  HEARTH_CHECK(sampling.top_p >= 0 && sampling.top_p <= 1, "it is in range");
  HEARTH_CHECK(sampling.repeat_penalty >= 0.009f, "it is in range");
  for (auto [token, bias] : sampling.logit_bias) {
    HEARTH_CHECK(token >= 0 && token < int32_t{kVocabulary} && bias <= 100, "biases are in range");
  }
  for (const std::string& stop : request.stops) {
    HEARTH_CHECK(!stop.empty() && stop.size() <= limits.stop_bytes, "stops are bounded");
  }
  for (const Prompt& prompt : call.prompts) check_prompt(prompt);
  for (const auto& message : call.messages) {
    HEARTH_CHECK(message.at("role").is_string() && message.at("content").is_string(),
                 "templates get texts");
  }
  HEARTH_CHECK(call.turn.tools.size() <= limits.tools, "tools are few");
  HEARTH_CHECK(call.chat ? !call.messages.empty() : !call.prompts.empty(), "there is something");
}

template <typename Read>
void refused_or_read(Read read) {
  try {
    read();
  } catch (const RequestError& error) {
    for (HttpDialect dialect : {HttpDialect::kEvents, HttpDialect::kLines}) {
      std::string body = error_body(error.api(), dialect);
      HEARTH_CHECK(body.size() < 1024, "errors are short");
      read_json(body);
    }
  }
}

void read_ollama_bodies(std::string_view body) {
  for (OllamaRoute route : {OllamaRoute::kChat, OllamaRoute::kGenerate}) {
    refused_or_read([&] {
      const OllamaBody asked = read_ollama_body(body, route, {});
      const CompletionCall call = read_ollama_call(asked, {}, {}, kVocabulary);
      if (!asked.asks_nothing) check_call(call);
    });
  }
  for (EmbeddingForm form : {EmbeddingForm::kOllama, EmbeddingForm::kOllamaPrompt}) {
    refused_or_read([&] {
      const EmbeddingCall call = read_ollama_embedding(body, form, {}, kVocabulary, 16, 512);
      for (const Prompt& input : call.inputs) HEARTH_CHECK(!input.text.empty(), "it has a text");
    });
  }
}

void read_bodies(std::string_view body) {
  RequestLimits limits;
  refused_or_read([&] { check_call(read_chat_call(body, {}, limits, kVocabulary)); });
  refused_or_read([&] {
    CompletionCall call = read_chat_call(body, {}, limits, kVocabulary);
    for (std::string_view form : {"hermes", "mistral-nemo", "kimi-k2", "deepseek-v3"}) {
      boost::json::array messages = call.messages;
      fit_history(&find_known_format(form)->format, &messages);
    }
  });
  refused_or_read([&] {
    const MessagesBody asked = read_messages_body(body, limits, MessagesWish::kAnswer);
    check_call(read_messages_call(asked, {}, limits, kVocabulary));
  });
  refused_or_read([&] {
    const ResponsesBody asked = read_responses_body(body, limits);
    check_call(read_responses_call(asked, {}, limits, kVocabulary));
  });
  read_ollama_bodies(body);
  refused_or_read([&] { check_call(read_text_call(body, {}, limits, kVocabulary)); });
  for (bool cohere : {false, true}) {
    refused_or_read([&] {
      RerankCall call = read_rerank_call(body, {}, cohere);
      HEARTH_CHECK(!call.documents.empty() && !call.query.empty() && call.best > 0, "some rank");
    });
  }
  refused_or_read([&] { read_tokenize_call(body, limits); });
  refused_or_read([&] { read_detokenize_call(body, limits, kVocabulary); });
  refused_or_read([&] { read_template_call(body, limits); });
}

void check_events(std::string_view events) {
  while (!events.empty()) {
    size_t end = events.find("\n\n");
    HEARTH_CHECK(events.starts_with("data: ") && end != events.npos, "events are whole");
    read_json(events.substr(6, end - 6));
    events.remove_prefix(end + 2);
  }
}

// The bytes are tokens. The first two also choose the options of the reply.
void write_replies(std::string_view bytes, const Tokenizer& tokenizer) {
  if (bytes.size() < 2) return;
  bytes = bytes.substr(0, 64);
  bool chat = bytes[0] & 1, logprobs = bytes[0] & 2, usage = bytes[0] & 4;
  TextStream text({std::string(1, bytes[1]), "ab"});
  ReplyHead head{chat, "id", 0, std::string(bytes.substr(0, 16)), "", logprobs, usage};
  ChoiceText choice(tokenizer, 0, logprobs);
  ChoicePart whole;
  std::string events;
  size_t with_text = 0;
  for (size_t i = 2; i < bytes.size() && !whole.finish; ++i) {
    Result result;
    result.token = static_cast<unsigned char>(bytes[i]);
    result.top_logprobs = {{result.token, 0.0}, {(result.token + 1) % 256, -1.0}};
    result.text = text.push(bytes.substr(i, 1));
    if (text.stopped()) result.finish = Finish::kStopString;
    if (!result.finish && i + 1 == bytes.size()) result.finish = Finish::kLength;
    if (result.finish) result.text += text.end();
    ChoicePart part = choice.take(result);
    events += part_events(head, part);
    with_text += part.entries.size();
    whole.append(std::move(part));
  }
  HEARTH_CHECK(whole.entries.size() == with_text, "none is lost");
  HEARTH_CHECK(whole.entries.size() <= choice.tokens(), "a token has an entry at most");
  HEARTH_CHECK(!logprobs || whole.entries.empty() == whole.text.empty(), "text has entries");
  check_events(events);
  if (whole.finish) {
    CompletionBody body(head, {whole}, {});
    read_json(whole_body(body));
  }
  read_json(error_body({400, "", std::string(bytes), std::string(bytes), std::string(bytes), {}}));
}

}  // namespace
}  // namespace hearth

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const auto kTokenizer = hearth::Tokenizer::from_vocab(hearth::bpe_vocab({}));
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (bytes.starts_with('{')) {
    hearth::read_bodies(bytes);
  } else {
    hearth::write_replies(bytes, *kTokenizer);
  }
  return 0;
}
