// A Completion is one request for text on its way: read by the worker, submitted to the engine,
// answered as events or in one body. Its prompts are jobs of their own on one stream; its choices
// are numbered through all of them.
//
//   start() -> read(), the worker -> submit() -> take_results(), whenever the engine says so
//           -> finish(), fail() or leave(): exactly one of them, once
//
// All but read() happen on the reactor's thread. Where memory runs out, wherever that is, the
// exchange falls short, which ends in leave().
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "server/choice_text.h"
#include "server/completions.h"
#include "server/reply_bodies.h"

namespace hearth {

class Completion : public std::enable_shared_from_this<Completion> {
 public:
  Completion(Completions& all, std::shared_ptr<Exchange> exchange, const ServedModel& model,
             bool chat);

  void start();
  void fail(const ApiError& error) noexcept;
  // The client is gone, or there was no memory for its answer.
  void leave() noexcept;
  // For how long its results have waited for the client; 0 where they don't.
  double stalled_seconds() const;
  // Whose it is, and what it takes of the places.
  const std::string& client() const { return exchange_->request().client; }
  uint32_t places() const { return places_; }
  // Ends a stream whose client lets it wait while others want its places.
  void give_way();
  // There is nobody left to tell.
  void forget() {
    ended_ = true;
    jobs_.clear();
  }

 private:
  // One of the prompts.
  struct Part {
    std::vector<int32_t> tokens;  // until it is submitted
    uint64_t token_count = 0;
    std::string echo;  // the prompt's text, where it is asked for
    uint32_t cached = 0;
  };

  // Does `part`; ends the request with what that throws.
  template <typename Work>
  void guarded(Work part) noexcept;
  void read();
  void read_prompts();
  void add_prompt(std::vector<int32_t> tokens, std::string echo);
  void settle_request();
  void submit();
  void submit_prompts();
  void begin_events();
  void go_on();
  void take_results_soon() noexcept;
  void take_results();
  ChoicePart take(const Result& result);
  void note_times(const Result& result);
  void finish();
  void finish_whole(Outcome outcome);
  void end(Outcome outcome, unsigned status, std::string_view finish) noexcept;
  void note_end(Outcome outcome, unsigned status, std::string_view finish);

  uint32_t texts() const;
  Usage usage() const;

  Completions& all_;
  const std::shared_ptr<Exchange> exchange_;
  const ServedModel& model_;
  const bool chat_;

  CompletionCall call_;
  std::vector<Part> parts_;
  ReplyHead head_;

  uint32_t places_ = 0;
  std::shared_ptr<ResultStream> stream_;
  std::vector<JobHandle> jobs_;
  std::unordered_map<uint64_t, uint32_t> prompt_of_;  // by the jobs' ids
  std::vector<ChoiceText> choices_;
  std::vector<ChoicePart> whole_;  // what came so far, where it is not streamed
  uint32_t finished_ = 0;          // choices
  std::atomic<bool> told_{false};  // take_results() is on its way to the reactor
  bool streaming_ = false;
  bool finishing_ = false;               // its whole reply is being made
  std::optional<double> stalled_since_;  // results wait for the client
  std::atomic<bool> ended_{false};       // the worker asks too: nobody waits for it any more

  double submitted_seconds_ = 0;
  std::optional<double> queue_seconds_, first_token_seconds_;
};

}  // namespace hearth
