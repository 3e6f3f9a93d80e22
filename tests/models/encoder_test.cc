// Tests of encoders against the float64 reference, and of the numerical contract over their texts.
// A text has the same bits alone and in any step, beside any other texts, in any order, for every
// number of threads and groups. Some models are decoders whose files say that attention is not
// causal.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "base/error.h"
#include "engine/engine.h"
#include "golden_set.h"
#include "models/registry.h"

namespace hearth {
namespace {

struct RunOptions {
  Isa isa = available_isas(detect_cpu_features()).back();
  uint32_t threads = 1, shards = 1, groups = 0;
  uint32_t at_once = 1;  // texts in a step
  uint32_t order = 0;    // of the texts; 0: their own, else drawn from this seed
  GroupSync sync = GroupSync::kAsync;
};

std::unique_ptr<Engine> load(const GoldenModel& model, const RunOptions& run) {
  ModelSource source = open_model_source(model.path);
  EngineOptions options;
  options.threads = run.threads;
  options.shards = run.shards;
  options.prefill_groups = options.decode_groups = run.groups;
  options.sync = run.sync;
  options.context = 200;
  options.outputs = 1;
  options.hidden_rows = 512;
  Machine machine = Machine::invented(run.shards, run.threads / run.shards);
  return std::make_unique<Engine>(source, make_spec(source), machine, run.isa, options);
}

// The hidden states of all texts, in the texts' own order.
std::vector<float> run_model(const GoldenModel& model, const RunOptions& run) {
  std::unique_ptr<Engine> engine = load(model, run);
  std::vector<size_t> order(model.texts.size()), begins;
  std::iota(order.begin(), order.end(), size_t{0});
  std::mt19937 random(run.order);
  if (run.order != 0) std::shuffle(order.begin(), order.end(), random);
  size_t total = 0;
  for (uint32_t length : model.texts) {
    begins.push_back(total);
    total += length;
  }
  std::vector<float> rows(total * model.width);
  for (size_t done = 0; done < order.size();) {
    size_t count = std::min<size_t>(run.at_once, order.size() - done);
    std::vector<std::unique_ptr<Sequence>> sequences;
    std::vector<StepRequest> requests;
    for (size_t i = done; i < done + count; ++i) {
      sequences.push_back(engine->new_sequence());
      std::span<const int32_t> tokens = model.tokens;
      requests.push_back({sequences.back().get(),
                          tokens.subspan(begins[order[i]], model.texts[order[i]]), Want::kHidden});
    }
    engine->step(requests);
    size_t row = 0;
    for (size_t i = done; i < done + count; ++i) {
      for (size_t r = 0; r < model.texts[order[i]]; ++r) {
        std::span<const float> hidden = engine->hidden(row++);
        std::copy(hidden.begin(), hidden.end(),
                  rows.begin() + static_cast<ptrdiff_t>((begins[order[i]] + r) * model.width));
      }
    }
    done += count;
  }
  return rows;
}

class EncoderGolden : public testing::TestWithParam<GoldenModel> {};

// The levels agree to the bit; golden_test.cc says why BF16 weights may be an exception.
TEST_P(EncoderGolden, EveryIsaMeetsTheReferenceAndTheOthers) {
  const GoldenModel& model = GetParam();
  std::vector<float> first;
  for (Isa isa : available_isas(detect_cpu_features())) {
    std::vector<float> rows = run_model(model, {.isa = isa, .threads = 2, .at_once = 64});
    if (first.empty()) first = rows;
    Difference d = difference(rows, model.hidden);
    EXPECT_LT(d.rms, model.reference_bound().rms) << isa_name(isa);
    EXPECT_LT(d.max, model.reference_bound().max) << isa_name(isa);
    if (model.bf16) {
      EXPECT_LT(difference(first, rows).rms, model.activation_bf16.rms * model.std());
    } else {
      EXPECT_TRUE(same_bits(first, rows)) << isa_name(isa);
    }
  }
}

// The texts have 1 to 200 tokens.
TEST_P(EncoderGolden, BitsDependOnNothingButTheCut) {
  const GoldenModel& model = GetParam();
  for (Isa isa : available_isas(detect_cpu_features())) {
    if (isa == Isa::kReference) continue;  // one chain for every M by construction, and slow
    SCOPED_TRACE(isa_name(isa));
    std::vector<float> alone = run_model(model, {.isa = isa});
    auto same = [&](RunOptions run) {
      run.isa = isa;
      return same_bits(alone, run_model(model, run));
    };
    EXPECT_TRUE(same({.threads = 3, .at_once = 2}));
    EXPECT_TRUE(same({.threads = 2, .at_once = 64}));
    EXPECT_TRUE(same({.threads = 3, .groups = 3, .at_once = 64, .order = 1}));
    EXPECT_TRUE(same({.threads = 4, .groups = 2, .at_once = 3, .order = 2}));
  }
}

TEST_P(EncoderGolden, ShardsChangeTheLastBitsOnlyAndGroupsNone) {
  const GoldenModel& model = GetParam();
  std::vector<float> one = run_model(model, {});
  for (uint32_t shards : {2u, 4u}) {
    SCOPED_TRACE(shards);
    std::vector<float> cut = run_model(model, {.threads = shards, .shards = shards, .at_once = 3});
    EXPECT_LT(difference(one, cut).rms, model.shard_bound());
    for (uint32_t groups : {1u, 2u, 4u}) {
      RunOptions run{.threads = 4, .shards = shards, .groups = groups, .at_once = 64, .order = 3};
      EXPECT_TRUE(same_bits(cut, run_model(model, run))) << groups;
    }
    RunOptions lockstep{.threads = 4, .shards = shards, .at_once = 4, .sync = GroupSync::kLockstep};
    EXPECT_TRUE(same_bits(cut, run_model(model, lockstep)));
  }
}

TEST_P(EncoderGolden, KeepsNothingAndGivesNoLogits) {
  const GoldenModel& model = GetParam();
  std::unique_ptr<Engine> engine = load(model, {});
  EXPECT_TRUE(engine->spec().is_encoder());
  EXPECT_FALSE(engine->pool().keeps_pages());
  EXPECT_EQ(engine->memory().kv, 0u);
  auto sequence = engine->new_sequence();
  StepRequest next{sequence.get(), std::span(model.tokens).first(9), Want::kLast};
  EXPECT_THROW(engine->step({&next, 1}), Error);
  next.want = Want::kHidden;
  engine->step({&next, 1});
  EXPECT_THROW(engine->step({&next, 1}), Error);
}

// The last position of a model may be used. Where a table ends there, no position beyond it may.
TEST_P(EncoderGolden, AContextEndsWithTheTableOfPositions) {
  const GoldenModel& model = GetParam();
  ModelSource source = open_model_source(model.path);
  ModelSpec spec = make_spec(source);
  EngineOptions options;
  options.threads = options.shards = 1;
  options.hidden_rows = options.prefill_rows = spec.hyper.context;
  options.context = spec.hyper.context + 1;
  const Machine machine = Machine::invented(1, 1);
  const Isa isa = available_isas(detect_cpu_features()).back();
  if (spec.embedding.positions) {
    EXPECT_THROW(Engine(source, spec, machine, isa, options), Error);
    options.context = spec.hyper.context;
  }
  Engine engine(source, spec, machine, isa, options);
  std::vector<int32_t> tokens(spec.hyper.context, 5);
  auto sequence = engine.new_sequence();
  StepRequest text{sequence.get(), tokens, Want::kHidden};
  EXPECT_TRUE(engine.step({&text, 1}));
  for (float value : engine.hidden(tokens.size() - 1)) EXPECT_TRUE(std::isfinite(value));
}

INSTANTIATE_TEST_SUITE_P(Models, EncoderGolden, testing::ValuesIn(read_golden_set("encoders")),
                         golden_test_name);

}  // namespace
}  // namespace hearth
