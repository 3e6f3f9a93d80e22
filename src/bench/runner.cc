#include "bench/runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "base/check.h"
#include "base/clock.h"

namespace hearth {
namespace {

LimitSample mean(const LimitSample& a, const LimitSample& b) {
  LimitSample sample;
  sample.read = (a.read + b.read) / 2;
  for (size_t i = 0; i < kArithmeticUnits; ++i) sample.ops[i] = (a.ops[i] + b.ops[i]) / 2;
  return sample;
}

}  // namespace

std::vector<int32_t> bench_tokens(uint32_t count, uint32_t vocabulary, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<int32_t> tokens(count);
  for (int32_t& token : tokens) token = static_cast<int32_t>(random() % vocabulary);
  return tokens;
}

EngineOptions options_for(std::span<const BenchCase> cases) {
  EngineOptions options;
  options.context = 1;
  options.outputs = 1;
  for (const BenchCase& what : cases) {
    options.context = std::max(options.context, what.depth + what.tokens + 1);
    options.sequences = std::max(options.sequences, what.sequences);
    options.outputs = std::max(options.outputs, what.sequences);
    // A step has a token of every sequence.
    options.prefill_rows = std::max(options.prefill_rows, what.sequences);
  }
  return options;
}

BenchRunner::BenchRunner(Engine& engine, TeamLimits& limits, const WorkGraph& work,
                         BenchHooks hooks)
    : engine_(engine), limits_(limits), work_(work), hooks_(std::move(hooks)) {
  tokens_ = bench_tokens(engine.options().prefill_rows, engine.spec().hyper.vocabulary, 1);
}

CaseResult BenchRunner::run(const BenchCase& what, uint32_t repetitions) {
  CaseResult result{what, count_case(work_, what), {}, {}};
  std::string name = case_text(what);
  measuring_ = false;
  doing_ = fmt::format("{}: getting ready", name);
  BenchCase warm_up = what;
  if (what.phase == Phase::kDecode) warm_up.tokens = 1;
  if (!fill(what) || !repeat(warm_up)) return result;
  cut_back();
  const std::vector<LimitSample>& samples = limits_.levels()[0].samples;
  limits_.sample();
  measuring_ = true;
  engine_.set_profiling(profiling_);
  for (uint32_t r = 0; r < repetitions; ++r) {
    doing_ = fmt::format("{}: {} of {}", name, r + 1, repetitions);
    double start = steady_seconds();
    bool whole = repeat(what);
    double took = steady_seconds() - start;
    cut_back();
    if (!whole) break;
    limits_.sample();
    size_t last = samples.size() - 1;
    result.repetitions.push_back({took, mean(samples[last - 1], samples[last])});
  }
  if (!profiling_) return result;
  // The number of rows of a step decides which phase's graph runs.
  for (Phase phase : {Phase::kPrefill, Phase::kDecode}) {
    ProfileSummary summary = engine_.profile(phase);
    if (summary.runs > 0) result.profiles.push_back(std::move(summary));
  }
  engine_.set_profiling(false);
  return result;
}

bool BenchRunner::fill(const BenchCase& what) {
  // Rows of latent attention depend on where the prompt ends. The measured prompt counts as the
  // beginning of a longer prompt, and has the rows of that one.
  uint32_t prompt = 0;
  if (engine_.spec().has_latents()) {
    prompt = what.depth;
    if (what.phase == Phase::kPrefill) prompt += what.tokens + engine_.options().expand.tail;
  }
  if (what.depth != depth_ || prompt != prompt_) sequences_.clear();
  depth_ = what.depth;
  prompt_ = prompt;
  while (sequences_.size() < what.sequences) {
    sequences_.push_back(engine_.new_sequence(prompt));
    if (!prefill(*sequences_.back(), depth_, Want::kNothing)) {
      sequences_.pop_back();
      return false;
    }
  }
  return true;
}

bool BenchRunner::repeat(const BenchCase& what) {
  if (what.phase == Phase::kDecode) return decode(what, what.tokens);
  return prefill(*sequences_[0], what.tokens, Want::kLast);
}

void BenchRunner::cut_back() {
  for (auto& sequence : sequences_) sequence->cut_for_timing(depth_);
}

bool BenchRunner::prefill(Sequence& sequence, uint32_t tokens, Want want) {
  uint32_t most = engine_.options().prefill_rows;
  for (uint32_t done = 0; done < tokens;) {
    uint32_t count = std::min(most, tokens - done);
    bool last = done + count == tokens;
    StepRequest request{&sequence, some_tokens(0, count), last ? want : Want::kNothing};
    if (!step({&request, 1}, count)) return false;
    done += count;
  }
  return true;
}

bool BenchRunner::decode(const BenchCase& what, uint32_t tokens) {
  std::vector<StepRequest> requests(what.sequences);
  for (uint32_t done = 0; done < tokens; ++done) {
    for (uint32_t s = 0; s < what.sequences; ++s) {
      requests[s] = {sequences_[s].get(), some_tokens(done + s, 1), Want::kLast};
    }
    if (!step(requests, what.sequences)) return false;
  }
  return true;
}

bool BenchRunner::step(std::span<const StepRequest> requests, uint32_t tokens) {
  if (interrupted_ || hooks_.interrupted()) {
    interrupted_ = true;
    return false;
  }
  engine_.step(requests);
  choose(requests);
  if (measuring_) measured_ += tokens;
  hooks_.progress(measured_, doing_);
  return true;
}

// Chooses the next tokens. If the logits are not numbers it chooses none, so that such a model can
// still be measured.
void BenchRunner::choose(std::span<const StepRequest> requests) {
  uint32_t vocabulary = engine_.spec().hyper.vocabulary, row = 0;
  uint32_t needed = sampler_.best_needed(vocabulary);
  for (const StepRequest& request : requests) {
    if (request.want != Want::kLast) continue;
    if (needed > 0) {
      std::span<const TokenLogit> best = engine_.best(row, needed, vocabulary);
      if (!best.empty()) sampler_.sample_best(best);
    } else if (std::span<const float> logits = engine_.logits(row); all_finite(logits)) {
      sampler_.sample(logits);
    }
    ++row;
  }
}

// Returns `count` tokens from `begin` on, at most a step's rows. For a single token `begin` may be
// any number and wraps around.
std::span<const int32_t> BenchRunner::some_tokens(size_t begin, size_t count) const {
  size_t first = count == 1 ? begin % tokens_.size() : begin;
  HEARTH_CHECK(first + count <= tokens_.size(), "a step's tokens are there");
  return std::span(tokens_).subspan(first, count);
}

}  // namespace hearth
