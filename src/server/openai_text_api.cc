// The TextApi of OpenAI's chat completions, and of completions of prompts.
#include <utility>

#include "server/text_api.h"

namespace hearth {
namespace {

class OpenAiReply final : public ReplyForm {
 public:
  explicit OpenAiReply(ReplyHead head) : head_(std::move(head)) {}

  std::string begin(const Usage&, uint32_t choices) override {
    std::string events;
    for (uint32_t choice = 0; head_.chat && choice < choices; ++choice) {
      events += first_event(head_, choice);
    }
    return events;
  }
  std::string part(const ChoicePart& part) override { return part_events(head_, part); }
  std::string progress(const PromptProgress& progress) override {
    return progress_event(head_, progress);
  }
  std::string end(const Usage& usage) override {
    const bool any = head_.include_usage || head_.timings;
    const std::string last = any ? usage_event(head_, usage) : "";
    return last + std::string(kDoneEvent);
  }
  std::string error(const ApiError& error) override {
    return streamed_error(error, HttpDialect::kEvents);
  }
  std::unique_ptr<BodySource> whole(std::vector<ChoicePart> choices, const Usage& usage) override {
    return std::make_unique<CompletionBody>(head_, std::move(choices), usage);
  }

 private:
  const ReplyHead head_;
};

class OpenAiTextApi final : public TextApi {
 public:
  explicit OpenAiTextApi(bool chat) : chat_(chat) {}

  CompletionCall read(std::string_view body, const SamplingParams& defaults,
                      const RequestLimits& limits, uint32_t vocabulary) override {
    return chat_ ? read_chat_call(body, defaults, limits, vocabulary)
                 : read_text_call(body, defaults, limits, vocabulary);
  }
  std::unique_ptr<ReplyForm> reply(ReplyStart start, const CompletionCall& call) override {
    return std::make_unique<OpenAiReply>(ReplyHead{.chat = chat_,
                                                   .id = reply_id(chat_, start.unique),
                                                   .created = start.created,
                                                   .model = std::move(start.model),
                                                   .fingerprint = std::move(start.fingerprint),
                                                   .logprobs = call.request.logprobs,
                                                   .include_usage = call.include_usage,
                                                   .timings = call.timings});
  }

 private:
  const bool chat_;
};

}  // namespace

std::unique_ptr<TextApi> chat_api() { return std::make_unique<OpenAiTextApi>(true); }
std::unique_ptr<TextApi> prompt_api() { return std::make_unique<OpenAiTextApi>(false); }

}  // namespace hearth
