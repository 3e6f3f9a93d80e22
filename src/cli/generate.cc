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

// How many results of each continuation may wait until this thread takes them.
constexpr uint32_t kResultsAhead = 16;

void add_result(const Result& result, double seconds, Continuation* completion) {
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

// The state of one call of generate().
class Batch {
 public:
  Batch(Service& service, const std::vector<std::vector<int32_t>>& prompts, const Request& request,
        const ResultCallback& on_result)
      : service_(service),
        prompts_(prompts),
        request_(request),
        on_result_(on_result),
        max_jobs_(std::max(1u, service.options().max_waiting / request.choices)),
        stream_(std::make_shared<ResultStream>(
            kResultsAhead * request.choices *
            static_cast<uint32_t>(std::min<size_t>(prompts.size(), max_jobs_)))),
        start_(steady_seconds()) {
    for (size_t p = 0; p < prompts.size(); ++p) {
      for (uint32_t choice = 0; choice < request.choices; ++choice) {
        Continuation& completion = completions.emplace_back();
        completion.prompt = p;
        completion.choice = choice;
        completion.prompt_tokens = prompts[p].size();
      }
    }
    submit();
  }
  ~Batch() { stream_->close(); }

  void run(const Interrupts& interrupts) {
    size_t tokens = std::accumulate(prompts_.begin(), prompts_.end(), size_t{0},
                                    [](size_t sum, auto& prompt) { return sum + prompt.size(); });
    Progress progress("prompt", tokens, [](uint64_t n) { return fmt::format("{} tokens", n); });
    bool cancelled = false, reading = true;
    while (!jobs_.empty()) {
      if (!cancelled && interrupts.received()) {
        cancel();
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
      take(*result);
    }
  }

  std::vector<Continuation> completions;

 private:
  // A prompt submitted to the service.
  struct Submitted {
    JobHandle job;
    size_t prompt;
    uint32_t left;  // unfinished choices
  };

  // Submits as many prompts as the service is certain to accept, even if all choices of all
  // submitted prompts have to wait there.
  void submit() {
    for (; next_ < prompts_.size() && jobs_.size() < max_jobs_; ++next_) {
      Request one = request_;
      one.prompt = prompts_[next_];
      JobHandle job = service_.submit(std::move(one), stream_);
      uint64_t id = job.id();
      jobs_[id] = {std::move(job), next_, request_.choices};
    }
  }

  void take(const Result& result) {
    auto at = jobs_.find(result.request);
    give(at->second.prompt, result);
    if (result.finish && --at->second.left == 0) {
      jobs_.erase(at);
      submit();
    }
  }

  void give(size_t prompt, const Result& result) {
    Continuation& completion = completions[prompt * request_.choices + result.choice];
    const double moment = result.computed_seconds > 0 ? result.computed_seconds : steady_seconds();
    add_result(result, moment - start_, &completion);
    on_result_(completion, result);
  }

  // Cancels submitted prompts, and ends those that were not submitted yet.
  void cancel() {
    for (auto& [id, submitted] : jobs_) submitted.job.cancel();
    Result end;
    end.finish = Finish::kCancelled;
    for (; next_ < prompts_.size(); ++next_) {
      for (end.choice = 0; end.choice < request_.choices; ++end.choice) give(next_, end);
    }
  }

  Service& service_;
  const std::vector<std::vector<int32_t>>& prompts_;
  const Request& request_;
  const ResultCallback& on_result_;
  size_t max_jobs_;
  std::shared_ptr<ResultStream> stream_;
  double start_;
  size_t next_ = 0;                               // the prompt to submit next
  std::unordered_map<uint64_t, Submitted> jobs_;  // by job id
};

}  // namespace

double Continuation::prompt_rate() const {
  return first_token_seconds > 0 ? static_cast<double>(prompt_tokens) / first_token_seconds : 0;
}

double Continuation::rate() const {
  double seconds = total_seconds - first_token_seconds;
  return tokens > 1 && seconds > 0 ? (tokens - 1) / seconds : 0;
}

std::vector<Continuation> generate(Service& service,
                                   const std::vector<std::vector<int32_t>>& prompts,
                                   const Request& request, const Interrupts& interrupts,
                                   const ResultCallback& on_result) {
  Batch batch(service, prompts, request, on_result);
  batch.run(interrupts);
  return std::move(batch.completions);
}

}  // namespace hearth
