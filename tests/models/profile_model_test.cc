// Tests of profiling a model. The work is that of the model's shape, whichever members do it, and
// profiling changes no result.
#include <gtest/gtest.h>

#include <map>

#include "engine/engine.h"
#include "formats/gguf.h"
#include "tiny_model.h"

namespace hearth {
namespace {

constexpr TinyShape kShape{.layers = 3, .heads = 8, .kv_heads = 4};
constexpr uint32_t kPrompt = 20, kDecodes = 5;

std::unique_ptr<Engine> make_engine(uint32_t threads, uint32_t shards, uint32_t prefill_groups,
                                    uint32_t decode_groups) {
  ModelSource file = parse_gguf(tiny_llama(kShape), "tiny");
  EngineOptions options;
  options.threads = threads;
  options.shards = shards;
  options.prefill_groups = prefill_groups;
  options.decode_groups = decode_groups;
  options.context = 128;
  options.kv_type = KvType::kF16;
  options.prefill_rows = 64;
  options.decode_rows = 4;
  Machine machine = Machine::invented(shards, threads / shards);
  return std::make_unique<Engine>(file, make_spec(file), machine,
                                  available_isas(detect_cpu_features()).back(), options);
}

// Computes a prompt in one step, then tokens one by one; returns the last logits.
std::vector<float> generate(Engine& engine) {
  auto sequence = engine.new_sequence();
  std::vector<int32_t> prompt(kPrompt);
  for (uint32_t i = 0; i < kPrompt; ++i) prompt[i] = static_cast<int32_t>(i * 7 % 80);
  engine.prefill(*sequence, prompt);
  for (int32_t i = 0; i < static_cast<int32_t>(kDecodes); ++i) {
    StepRequest request{sequence.get(), {&i, 1}, Want::kLast};
    engine.step({&request, 1});
  }
  return {engine.logits(0).begin(), engine.logits(0).end()};
}

std::map<std::string, ProfileRow> by_name(const ProfileSummary& summary) {
  std::map<std::string, ProfileRow> rows;
  for (const ProfileRow& row : summary.rows) rows[row.name] = row;
  return rows;
}

// Returns the work of `steps` steps over `tokens` tokens in all, with f32 weights of `elements`
// elements in all layers together.
OpWork products(uint64_t elements, uint64_t steps, uint64_t tokens) {
  OpWork work;
  work.bytes = steps * elements * sizeof(float);
  work.of(ArithmeticUnit::kF32Fma) = 2 * tokens * elements;
  return work;
}

// Returns the work of queries at positions [first, end). They take `steps` steps, which read keys
// and values of `positions` positions in all.
OpWork attended(uint64_t first, uint64_t end, uint64_t positions) {
  OpWork work;
  for (uint64_t p = first; p < end; ++p) work.of(ArithmeticUnit::kF32Fma) += p + 1;
  work.of(ArithmeticUnit::kF32Fma) *= uint64_t{4} * kShape.layers * kShape.heads * kShape.head_dim;
  work.bytes = positions * kShape.layers * kShape.kv_heads * kShape.head_dim * 2 * 2;  // f16 K, V
  return work;
}

void expect_shapes_work(const ProfileSummary& summary, uint64_t steps, uint64_t tokens,
                        const OpWork& attention) {
  auto rows = by_name(summary);
  const TinyShape& s = kShape;
  uint64_t layers = s.layers, q = s.heads * s.head_dim, kv = s.kv_heads * s.head_dim;
  EXPECT_EQ(rows["attn_qkv"].work, products(layers * s.width * (q + 2 * kv), steps, tokens));
  EXPECT_EQ(rows["attn_output"].work, products(layers * s.width * q, steps, tokens));
  EXPECT_EQ(rows["ffn_gate_up"].work, products(layers * s.width * 2 * s.ffn, steps, tokens));
  EXPECT_EQ(rows["ffn_down"].work, products(layers * s.width * s.ffn, steps, tokens));
  // Each step computes only the logits of its last token.
  EXPECT_EQ(rows["logits"].work, products(uint64_t{s.vocabulary} * s.width, steps, steps));
  EXPECT_EQ(rows["attention"].work, attention);
  EXPECT_EQ(rows["reduce"].work, OpWork{});
  EXPECT_EQ(rows["attn_qkv"].calls, layers * steps);
  EXPECT_EQ(rows["reduce"].calls, 2 * layers * steps);
  EXPECT_EQ(rows["logits"].calls, steps);
}

TEST(ProfiledModel, WorkDoesNotDependOnThreadsAndGroups) {
  for (auto [threads, shards, prefill, decode] : std::vector<std::array<uint32_t, 4>>{
           {1, 1, 1, 1}, {2, 1, 2, 1}, {4, 1, 3, 4}, {2, 2, 1, 2}, {4, 2, 2, 4}}) {
    SCOPED_TRACE(std::to_string(prefill) + " groups, then " + std::to_string(decode));
    auto engine = make_engine(threads, shards, prefill, decode);
    engine->set_profiling(true);
    generate(*engine);
    ProfileSummary prompt = engine->profile(Phase::kPrefill),
                   tokens = engine->profile(Phase::kDecode);
    EXPECT_EQ(prompt.runs, 1u);
    EXPECT_EQ(prompt.tokens, kPrompt);
    EXPECT_EQ(tokens.runs, kDecodes);
    EXPECT_EQ(tokens.tokens, kDecodes);
    EXPECT_EQ(tokens.threads, threads);
    expect_shapes_work(prompt, 1, kPrompt, attended(0, kPrompt, kPrompt));
    uint64_t read = 0;
    for (uint64_t p = kPrompt; p < kPrompt + kDecodes; ++p) read += p + 1;
    expect_shapes_work(tokens, kDecodes, kDecodes, attended(kPrompt, kPrompt + kDecodes, read));
  }
}

TEST(ProfiledModel, ThreadsSpendNoMoreThanTheWall) {
  auto engine = make_engine(4, 2, 2, 4);
  engine->set_profiling(true);
  generate(*engine);
  for (Phase phase : {Phase::kPrefill, Phase::kDecode}) {
    ProfileSummary summary = engine->profile(phase);
    EXPECT_EQ(summary.by_threads.size(), 4u);
    for (const ProfileTimes& times : summary.by_threads) {
      EXPECT_LE(times.total(), summary.seconds + 1e-9);
    }
  }
}

TEST(ProfiledModel, ProfilingChangesNoResultAndCountsFromZero) {
  auto engine = make_engine(2, 1, 2, 1);
  EXPECT_TRUE(engine->profile(Phase::kDecode).rows.empty());
  std::vector<float> plain = generate(*engine);
  EXPECT_TRUE(engine->profile(Phase::kDecode).rows.empty());
  engine->set_profiling(true);
  EXPECT_EQ(generate(*engine), plain);
  EXPECT_EQ(generate(*engine), plain);
  EXPECT_EQ(engine->profile(Phase::kDecode).runs, 2 * kDecodes);
  engine->set_profiling(false);
  EXPECT_EQ(generate(*engine), plain);
  EXPECT_EQ(engine->profile(Phase::kDecode).runs, 2 * kDecodes);
  engine->set_profiling(true);
  EXPECT_EQ(engine->profile(Phase::kDecode).runs, 0u);
  EXPECT_EQ(engine->profile(Phase::kDecode).by_threads[0].total(), 0);
}

}  // namespace
}  // namespace hearth
