#include "cli/generate.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <unordered_map>

#include "base/clock.h"
#include "base/progress.h"

namespace hearth {
namespace {

constexpr std::chrono::milliseconds kLookUp(50);  // for Ctrl-C and the progress line
// Results that may wait for this thread, per continuation.
constexpr uint32_t kResultsAhead = 16;

void add_result(const Result& result, double seconds, Completion* completion) {
  completion->cached_tokens = result.cached_tokens;
  completion->text += result.text;
  completion->total_seconds = seconds;
  if (result.has_token()) {
    if (completion->tokens == 0) completion->first_token_seconds = seconds;
    ++completion->tokens;
  }
  completion->finish = result.finish;
  completion->stop = result.stop;
  completion->error = result.error;
}

// The batch while it is under way.
class Batch {
 public:
  Batch(Service& service, const std::vector<std::vector<int32_t>>& prompts, const Request& request)
      : service_(service),
        choices_(request.choices),
        stream_(std::make_shared<ResultStream>(
            kResultsAhead * static_cast<uint32_t>(prompts.size() * request.choices))),
        start_(steady_seconds()) {
    for (size_t p = 0; p < prompts.size(); ++p) {
      for (uint32_t choice = 0; choice < choices_; ++choice) {
        Completion& completion = completions.emplace_back();
        completion.prompt = p;
        completion.choice = choice;
        completion.prompt_tokens = prompts[p].size();
      }
      Request one = request;
      one.prompt = prompts[p];
      jobs_.push_back(service.submit(std::move(one), stream_));
      first_of_job_[jobs_.back()->id()] = p * choices_;
    }
  }
  ~Batch() { stream_->close(); }

  void run(Interrupts& interrupts, const ResultCallback& on_result) {
    size_t tokens = std::accumulate(completions.begin(), completions.end(), size_t{0},
                                    [](size_t sum, auto& c) { return sum + c.prompt_tokens; }) /
                    choices_;
    Progress progress("prompt", tokens, [](uint64_t n) { return fmt::format("{} tokens", n); });
    bool cancelled = false, reading = true;
    for (size_t left = completions.size(); left > 0;) {
      if (!cancelled && interrupts.received()) {
        for (const auto& job : jobs_) service_.cancel(*job);
        cancelled = true;
      }
      std::optional<Result> result = stream_->pop(kLookUp);
      const Statistics& figures = service_.statistics();
      if (reading && !result) {
        progress.update(
            std::min<uint64_t>(tokens, figures.computed_tokens + figures.cached_tokens));
      }
      if (!result) continue;
      if (reading) progress.finish();
      reading = false;
      Completion& completion = completions[first_of_job_.at(result->request) + result->choice];
      add_result(*result, steady_seconds() - start_, &completion);
      on_result(completion, *result);
      if (result->finish) --left;
    }
  }

  std::vector<Completion> completions;

 private:
  Service& service_;
  uint32_t choices_;
  std::shared_ptr<ResultStream> stream_;
  double start_;
  std::vector<std::shared_ptr<const Job>> jobs_;
  std::unordered_map<uint64_t, size_t> first_of_job_;  // completions, by the job's id
};

}  // namespace

double Completion::prompt_rate() const {
  return first_token_seconds > 0 ? static_cast<double>(prompt_tokens) / first_token_seconds : 0;
}

double Completion::rate() const {
  double seconds = total_seconds - first_token_seconds;
  return tokens > 1 && seconds > 0 ? (tokens - 1) / seconds : 0;
}

std::vector<Completion> generate(Service& service, const std::vector<std::vector<int32_t>>& prompts,
                                 const Request& request, Interrupts& interrupts,
                                 const ResultCallback& on_result) {
  Batch batch(service, prompts, request);
  batch.run(interrupts, on_result);
  return std::move(batch.completions);
}

}  // namespace hearth
