// Tests of measurements over a whole model: the steps that run, their number, and the results.
#include <gtest/gtest.h>

#include "base/error.h"
#include "bench/arrival.h"
#include "bench/runner.h"
#include "engine/logits.h"
#include "formats/gguf.h"
#include "kernels/kernels.h"
#include "tiny_model.h"

namespace hearth {
namespace {

class BenchRunTest : public testing::Test {
 protected:
  BenchRunTest()
      : file_(parse_gguf(tiny_llama(TinyShape{}), "tiny")), machine_(Machine::invented(1, 2)) {
    for (LlcGroup& llc : machine_.llcs) llc.bytes = 1 << 18;
  }

  void load(const std::vector<BenchCase>& cases) {
    EngineOptions options = options_for(cases);
    options.threads = 2;
    isa_ = available_isas(detect_cpu_features()).back();
    engine_ = std::make_unique<Engine>(file_, make_spec(file_), machine_, isa_, options);
    limits_ = std::make_unique<TeamLimits>(
        engine_->team(), machine_, place_threads(machine_, {.threads = 2}), std::vector<Isa>{isa_});
  }
  WorkGraph work() const {
    return {engine_->graph(Phase::kDecode), engine_->options().kv_type,
            units_of(kernels_for(isa_).limits)};
  }
  // Returns hooks that record the reported progress: the tokens measured after each step.
  BenchHooks watched() {
    BenchHooks hooks;
    hooks.progress = [this](uint64_t tokens, std::string_view doing) {
      steps_.push_back(tokens);
      doing_ = doing;
    };
    return hooks;
  }

  ModelSource file_;
  Machine machine_;
  Isa isa_ = Isa::kReference;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<TeamLimits> limits_;
  std::vector<uint64_t> steps_;
  std::string doing_;
};

TEST_F(BenchRunTest, OptionsHoldEveryCase) {
  std::vector<BenchCase> cases = {
      {Phase::kPrefill, 700, 1, 10}, {Phase::kDecode, 30, 600, 500}, {Phase::kDecode, 3, 2, 900}};
  EngineOptions options = options_for(cases);
  EXPECT_EQ(options.context, 904u);
  EXPECT_EQ(options.sequences, 600u);
  EXPECT_EQ(options.outputs, 600u);
  EXPECT_EQ(options.prefill_rows, 600u);
  EXPECT_EQ(options_for({}).prefill_rows, EngineOptions{}.prefill_rows);
}

TEST_F(BenchRunTest, PrefillOfSeveralSteps) {
  std::vector<BenchCase> cases = {{Phase::kPrefill, 600, 1, 40}};
  load(cases);
  BenchRunner runner(*engine_, *limits_, work(), watched());
  CaseResult result = runner.run(cases[0], 3);
  ASSERT_EQ(result.repetitions.size(), 3u);
  for (const Repetition& repetition : result.repetitions) {
    EXPECT_GT(repetition.seconds, 0);
    EXPECT_GT(repetition.beside.read, 0);
  }
  // The steps fill the context, run the case once unmeasured, and then three times.
  EXPECT_EQ(steps_, (std::vector<uint64_t>{0, 0, 0, 512, 600, 1112, 1200, 1712, 1800}));
  EXPECT_EQ(doing_, "prefill 600 at depth 40: 3 of 3");
  // The limits are sampled before the first repetition and after each.
  EXPECT_EQ(limits_->levels()[0].samples.size(), 4u);
  EXPECT_FALSE(runner.interrupted());
}

TEST_F(BenchRunTest, DecodeFillsEachSequenceOnce) {
  std::vector<BenchCase> cases = {
      {Phase::kDecode, 2, 2, 30}, {Phase::kDecode, 3, 3, 30}, {Phase::kDecode, 1, 1, 0}};
  load(cases);
  BenchRunner runner(*engine_, *limits_, work(), watched());
  // The steps fill two contexts, then decode two tokens once unmeasured and twice measured.
  EXPECT_EQ(runner.run(cases[0], 2).repetitions.size(), 2u);
  EXPECT_EQ(steps_, (std::vector<uint64_t>{0, 0, 0, 2, 4, 6, 8}));
  // This case fills one context more, since the other two sequences keep theirs.
  steps_.clear();
  EXPECT_EQ(runner.run(cases[1], 1).repetitions.size(), 1u);
  EXPECT_EQ(steps_, (std::vector<uint64_t>{8, 8, 11, 14, 17}));
  // A case of another depth makes new sequences.
  steps_.clear();
  EXPECT_EQ(runner.run(cases[2], 1).repetitions.size(), 1u);
  EXPECT_EQ(steps_, (std::vector<uint64_t>{17, 18}));
}

TEST_F(BenchRunTest, AnInterruptKeepsWholeRepetitions) {
  std::vector<BenchCase> cases = {{Phase::kDecode, 4, 1, 0}};
  load(cases);
  BenchHooks hooks = watched();
  // The interruption comes in the middle of the third repetition: after one unmeasured step and two
  // repetitions of four steps.
  hooks.interrupted = [this] { return steps_.size() == 1 + 4 + 4 + 2; };
  BenchRunner runner(*engine_, *limits_, work(), hooks);
  EXPECT_EQ(runner.run(cases[0], 5).repetitions.size(), 2u);
  EXPECT_TRUE(runner.interrupted());
  EXPECT_EQ(steps_.size(), 11u);
  EXPECT_TRUE(runner.run(cases[0], 5).repetitions.empty()) << "it stays interrupted";
}

TEST_F(BenchRunTest, APromptArrivesAsOftenAsAsked) {
  EngineOptions options;
  options.threads = 2;
  fit_arrival(100, &options);
  Engine engine(file_, make_spec(file_), machine_, Isa::kReference, options);
  ArrivalResult result = measure_arrival(engine, "tiny", {100, 0.001}, 2, {});
  EXPECT_EQ(result.repetitions, 2u);
  EXPECT_GT(result.longest_seconds.median, 0);
  EXPECT_GE(result.tokens_meanwhile.least, 1);
}

TEST_F(BenchRunTest, AModelWithoutNumbersEndsTheArrival) {
  ModelSource damaged = parse_gguf(tiny_llama(TinyShape{.scale = 1e20f}), "tiny");
  EngineOptions options;
  options.threads = 2;
  fit_arrival(100, &options);
  Engine engine(damaged, make_spec(damaged), machine_, Isa::kReference, options);
  // A runner that never ends is stopped after 1000 steps.
  BenchHooks hooks = watched();
  hooks.interrupted = [this] { return steps_.size() > 1000; };
  try {
    measure_arrival(engine, "tiny", {100, 0}, 1, hooks);
    FAIL() << "it measures " << steps_.size() << " steps";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kFile);
    EXPECT_EQ(std::string(error.what()), std::string("'tiny': ") + kNotNumbers);
  }
}

TEST_F(BenchRunTest, CountsTheTinyModel) {
  load({{Phase::kPrefill, 1, 1, 0}});
  // TinyShape: 2 layers, width 64, 4 heads over 2 of 16, FFN 96, 80 tokens, tied, F32.
  double matrices = 2 * (64 * 64 + 2 * 32 * 64 + 64 * 64 + 3 * 96 * 64);
  auto fma = static_cast<size_t>(ArithmeticUnit::kF32Fma);
  CaseWork one = count_case(work(), {Phase::kPrefill, 1, 1, 0});
  EXPECT_EQ(one.gemm_ops[fma], 2 * (matrices + 80 * 64));
  EXPECT_EQ(one.attention_ops, 4.0 * 2 * 4 * 16);
  // The head computes only the last row.
  CaseWork two = count_case(work(), {Phase::kPrefill, 2, 1, 0});
  EXPECT_EQ(two.gemm_ops[fma], 2 * (2 * matrices + 80 * 64));
  EXPECT_EQ(two.attention_ops, 3 * one.attention_ops);
  // The LM head is also the token table, from which the embedding reads one row more.
  CaseWork step = count_case(work(), {Phase::kDecode, 1, 1, 0});
  EXPECT_EQ(static_cast<double>(step.weight_bytes), 4 * (matrices + 80 * 64 + 64));
}

}  // namespace
}  // namespace hearth
