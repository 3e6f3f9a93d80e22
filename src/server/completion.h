// A Completion is one request for text: the worker reads it, the engine computes it, and the answer
// is a stream of events or one body. Each prompt is a job of its own; the jobs share one result
// stream, and their choices are numbered through all prompts.
//
//   begin() -> read(), the worker -> submit() -> take_results(), whenever the engine says so
//           -> finish()
//
// All but read() happen on the reactor's thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "server/answer.h"
#include "server/choice_text.h"
#include "server/completions.h"
#include "server/reply_form.h"
#include "server/text_api.h"
#include "template/chat_template.h"

namespace hearth {

class Completion final : public Answer {
 public:
  Completion(Completions& all, Answers& answers, std::shared_ptr<Exchange> exchange,
             const ServedModel& model, std::unique_ptr<TextApi> api);
  ~Completion() override;

  // Returns for how many seconds results have waited for the client; 0 where none wait.
  double stalled_seconds() const;
  // Returns the number of places (texts that run or wait) that the request holds.
  uint32_t places() const { return places_; }
  // Ends a stream whose client reads too slowly while other requests need its places.
  void give_way();

 private:
  // One prompt of the request.
  struct Part {
    std::vector<int32_t> tokens;  // emptied when submitted
    uint64_t token_count = 0;
    std::string echo;  // the prompt's text, where the client asks for an echo
    // The echoed prompt with log-probabilities; `echo` is then empty.
    std::shared_ptr<const EchoedPrompt> scored = nullptr;
    uint32_t cached = 0;
  };

  void begin() override;
  void send_error(const ApiError& error) override;
  void let_go() noexcept override;
  void note(LogEntry* entry) const override;
  void forget() noexcept override;
  void read();
  void read_conversation();
  void read_prompts();
  void add_prompt(std::vector<int32_t> tokens, std::string echo);
  void check_logprobs() const;
  // Whether the request needs the engine.
  bool computes() const { return call_.generates || call_.request.prompt_logprobs; }
  void settle_request();
  void settle_language();
  void settle_turn(const RenderedChat& chat);
  void check_context() const;
  std::unique_ptr<ChoiceReader> choice_reader(uint32_t choice) const;
  void submit();
  void submit_prompts();
  void begin_events();
  HttpFields reply_fields() const;
  void go_on();
  void take_results_soon() noexcept;
  void take_results();
  std::string read_so_far();
  void end_uncomputed();
  struct Choices {
    uint32_t begin, end;
  };
  Choices choices_of(const Result& result) const;
  bool give(uint32_t choice, const Result& result, std::string* events);
  void note_choice(const ChoiceReader& choice, const Result& result);
  void note_times(const Result& result);
  void finish();
  uint32_t texts() const;
  Usage usage() const;

  Completions& all_;
  const ServedModel& model_;
  const std::unique_ptr<TextApi> api_;

  CompletionCall call_;
  std::shared_ptr<const TurnLanguage> turn_;  // null: all text is content
  std::string relaxed_;                       // schema keywords that the turn's grammar leaves out
  std::vector<Part> parts_;
  std::unique_ptr<ReplyForm> reply_;

  uint32_t places_ = 0;
  std::shared_ptr<ResultStream> stream_;
  std::vector<JobHandle> jobs_;
  std::unordered_map<uint64_t, uint32_t> prompt_of_;  // by job id
  std::vector<std::unique_ptr<ChoiceReader>> choices_;
  std::vector<ChoicePart> whole_;  // each choice so far, where the reply is not streamed
  PromptRead reported_read_;
  uint32_t finished_ = 0;                    // choices that have ended
  std::atomic<bool> results_posted_{false};  // take_results() is posted to the reactor
  bool streaming_ = false;
  bool finishing_ = false;               // the worker makes the whole reply
  std::optional<double> stalled_since_;  // since when results wait for the client

  double submitted_seconds_ = 0;
  std::optional<double> queue_seconds_, first_token_seconds_;
  // Seconds of the results' clock: admission of the first text, its first token, and the latest
  // result.
  double admitted_at_ = 0, first_token_at_ = 0, computed_at_ = 0;
};

}  // namespace hearth
