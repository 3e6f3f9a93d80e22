#include "bench/arrival.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "engine/scheduler.h"

namespace hearth {
namespace {

constexpr uint32_t kDecodedPrompt = 64;
constexpr uint32_t kTokensBefore = 24;
// Returns how many tokens the decoding sequence must have room for: one comes with each chunk of
// the prompt, and chunks may be as small as 64 tokens.
uint32_t decoded_tokens(uint32_t prompt) { return 2 * kTokensBefore + prompt / 16; }

// A request and the moments when its tokens came.
struct Watched {
  Watched(Scheduler& scheduler, std::vector<int32_t> prompt, uint32_t tokens)
      : stream(std::make_shared<ResultStream>(tokens)), arrived(steady_seconds()) {
    Request request;
    request.prompt = std::move(prompt);
    request.sampling.temperature = 0;
    request.max_tokens = tokens;
    scheduler.add(std::make_shared<Job>(1, std::move(request), stream));
  }
  // Records the time of every token that came since the last call. If the request failed, throws
  // (kFile) with the model's name.
  void look(const std::string& model) {
    double time = steady_seconds();
    while (std::optional<Result> result = stream->try_pop()) {
      if (result->finish == Finish::kFailed)
        fail(ErrorCode::kFile, "'{}': {}", model, result->error);
      times.push_back(time);
    }
  }

  std::shared_ptr<ResultStream> stream;
  double arrived;
  std::vector<double> times;
};

// The times of one repetition.
struct Arrival {
  double usual = 0, longest = 0, first_token = 0;
  size_t tokens = 0;
};

Arrival arrival_of(const Watched& decoding, size_t before, const Watched& prompt) {
  Arrival arrival;
  std::vector<double> usual;
  for (size_t i = 1; i < decoding.times.size(); ++i) {
    double gap = decoding.times[i] - decoding.times[i - 1];
    if (i < before) {
      usual.push_back(gap);
    } else {
      arrival.longest = std::max(arrival.longest, gap);
    }
  }
  arrival.usual = spread_of(usual).median;
  arrival.first_token = prompt.times[0] - prompt.arrived;
  arrival.tokens = decoding.times.size() - before;
  return arrival;
}

std::optional<Arrival> run_once(Engine& engine, const std::string& model, const ArrivalCase& what,
                                const BenchHooks& hooks) {
  Statistics statistics;
  SchedulerOptions options;
  options.step_seconds = what.step_seconds;
  options.prefix_cache = false;
  Scheduler scheduler(engine, nullptr, options, statistics);
  uint32_t vocabulary = engine.spec().hyper.vocabulary;
  Watched decoding(scheduler, bench_tokens(kDecodedPrompt, vocabulary, 1),
                   decoded_tokens(what.prompt));
  std::optional<Watched> prompt;
  while (!prompt || prompt->times.size() < 2) {
    if (hooks.interrupted()) return std::nullopt;
    scheduler.step();
    decoding.look(model);
    if (prompt) prompt->look(model);
    hooks.progress(0, fmt::format("a prompt of {} arrives", what.prompt));
    if (!prompt && decoding.times.size() == kTokensBefore) {
      prompt.emplace(scheduler, bench_tokens(what.prompt, vocabulary, 2), 2);
    }
  }
  return arrival_of(decoding, kTokensBefore, *prompt);
}

}  // namespace

void fit_arrival(uint32_t prompt, EngineOptions* options) {
  options->context =
      std::max({options->context, prompt + 3, kDecodedPrompt + decoded_tokens(prompt) + 1});
  options->sequences = std::max(options->sequences, 2u);
  options->outputs = std::max(options->outputs, 2u);
}

ArrivalResult measure_arrival(Engine& engine, const std::string& model, const ArrivalCase& what,
                              uint32_t repetitions, const BenchHooks& hooks) {
  ArrivalResult result;
  result.what = what;
  std::vector<double> usual, longest, first, tokens;
  for (; result.repetitions < repetitions; ++result.repetitions) {
    std::optional<Arrival> arrival = run_once(engine, model, what, hooks);
    if (!arrival) break;
    usual.push_back(arrival->usual);
    longest.push_back(arrival->longest);
    first.push_back(arrival->first_token);
    tokens.push_back(static_cast<double>(arrival->tokens));
  }
  result.usual_seconds = spread_of(std::move(usual));
  result.longest_seconds = spread_of(std::move(longest));
  result.first_token_seconds = spread_of(std::move(first));
  result.tokens_meanwhile = spread_of(std::move(tokens));
  return result;
}

}  // namespace hearth
