// Tests of the engine's steps. In ragged batches every sequence gets the same results as by itself,
// and a refused step changes nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "base/error.h"
#include "engine/engine.h"
#include "formats/gguf.h"
#include "tiny_engine.h"

namespace hearth {
namespace {

class EngineStep : public testing::Test {
 protected:
  EngineStep() : file_(parse_gguf(tiny_llama(TinyShape{}), "tiny")) {}

  std::unique_ptr<Engine> make(const EngineOptions& options, uint32_t cores = 2) {
    Isa isa = available_isas(detect_cpu_features()).back();
    return std::make_unique<Engine>(file_, make_spec(file_), Machine::invented(1, cores), isa,
                                    options);
  }
  static EngineOptions options() {
    EngineOptions options;
    options.context = 200;
    options.sequences = 3;
    options.prefill_rows = 64;
    options.decode_rows = 4;
    options.outputs = 64;
    return options;
  }
  static std::vector<int32_t> random_tokens(size_t n, uint32_t seed) {
    std::mt19937 random(seed);
    std::vector<int32_t> tokens(n);
    for (int32_t& t : tokens) t = static_cast<int32_t>(random() % 80);
    return tokens;
  }
  static std::vector<float> copy(std::span<const float> row) { return {row.begin(), row.end()}; }

  ModelSource file_;
};

TEST_F(EngineStep, RaggedBatchesGiveWhatEachSequenceGetsAlone) {
  auto engine = make(options());
  std::vector<std::vector<int32_t>> prompts = {random_tokens(150, 1), random_tokens(97, 2),
                                               random_tokens(33, 3)};
  std::vector<std::vector<float>> alone;
  for (const auto& prompt : prompts) {
    auto sequence = engine->new_sequence();
    engine->prefill(*sequence, prompt);
    alone.push_back(copy(engine->logits(0)));
  }
  std::mt19937 random(9);
  for (int round = 0; round < 10; ++round) {
    std::vector<std::unique_ptr<Sequence>> sequences;
    for (size_t i = 0; i < prompts.size(); ++i) sequences.push_back(engine->new_sequence());
    std::vector<std::vector<float>> together(prompts.size());
    for (bool more = true; more;) {
      more = false;
      std::vector<StepRequest> requests;
      std::vector<size_t> ends;  // sequences whose last token is in this step
      for (size_t i = 0; i < prompts.size(); ++i) {
        size_t done = sequences[i]->length(), left = prompts[i].size() - done;
        size_t count = std::min<size_t>(left, random() % 21);
        if (left > 0) more = true;
        if (count == 0) continue;
        bool last = count == left;
        if (last) ends.push_back(i);
        requests.push_back({sequences[i].get(), std::span(prompts[i]).subspan(done, count),
                            last ? Want::kLast : Want::kNothing});
      }
      if (requests.empty()) continue;
      engine->step(requests);
      for (size_t row = 0; row < ends.size(); ++row)
        together[ends[row]] = copy(engine->logits(row));
    }
    EXPECT_EQ(together, alone);
  }
}

TEST_F(EngineStep, AllRowsOfBothKindsFitOneStep) {
  EngineOptions both = options();
  both.outputs = 24;
  both.hidden_rows = 40;
  auto engine = make(both);
  std::vector<int32_t> prompt = random_tokens(64, 4);
  auto whole = engine->new_sequence();
  StepRequest hidden_first{whole.get(), std::span(prompt).first(40), Want::kHidden};
  StepRequest logits_then{whole.get(), std::span(prompt).subspan(40), Want::kAll};
  engine->step({&hidden_first, 1});
  std::vector<float> hidden = copy(engine->hidden(39));
  engine->step({&logits_then, 1});
  std::vector<float> logits = copy(engine->logits(23));

  auto first = engine->new_sequence(), second = engine->new_sequence();
  engine->prefill(*second, std::span(prompt).first(40));
  StepRequest together[] = {{first.get(), std::span(prompt).first(40), Want::kHidden},
                            {second.get(), std::span(prompt).subspan(40), Want::kAll}};
  engine->step(together);
  EXPECT_EQ(copy(engine->hidden(39)), hidden);
  EXPECT_EQ(copy(engine->logits(23)), logits);
}

// Runs a step of each phase. In each, two sequences want only their last row, and the sequence
// between them wants all rows.
void expect_best_of_rows(Engine& engine, uint32_t vocabulary) {
  std::mt19937 random(5);
  std::vector<int32_t> tokens = random_tokens(random, 12, vocabulary);
  std::span<const int32_t> all = tokens;
  auto a = engine.new_sequence(), b = engine.new_sequence(), c = engine.new_sequence();
  for (size_t count : {size_t{4}, size_t{1}}) {
    StepRequest requests[] = {{a.get(), all.first(count), Want::kLast},
                              {b.get(), all.subspan(count, count), Want::kAll},
                              {c.get(), all.last(count), Want::kLast}};
    engine.step(requests);
    for (size_t row : {size_t{0}, 1 + count}) {
      for (uint32_t best : {1u, 40u}) {
        for (uint32_t below : {vocabulary, vocabulary - 19}) {
          std::vector<TokenLogit> expected = top_tokens(engine.logits(row).first(below), best);
          EXPECT_TRUE(std::ranges::equal(engine.best(row, best, below), expected))
              << count << " " << row << " " << best << " " << below;
        }
      }
    }
  }
}

TEST(EngineBest, IsThatOfTheWholeRowOverShardsAndGroups) {
  constexpr uint32_t kVocabulary = 1003;
  ModelSource file =
      parse_gguf(tiny_llama({.heads = 8, .kv_heads = 4, .vocabulary = kVocabulary}), "tiny");
  for (uint32_t shards : {1u, 2u, 3u, 4u}) {
    for (uint32_t groups : {1u, shards, 2 * shards}) {
      SCOPED_TRACE(std::to_string(shards) + " shards, groups: " + std::to_string(groups));
      EngineOptions options;
      options.threads = std::max(shards, groups);
      options.shards = shards;
      options.prefill_groups = options.decode_groups = groups;
      options.context = 64;
      options.sequences = 3;
      options.decode_rows = 4;
      expect_best_of_rows(*tiny_engine(file, options), kVocabulary);
    }
  }
}

// Prefill deals rows to groups. So any group may own a row whose logits or hidden state the step
// must return.
TEST_F(EngineStep, PickedRowsAreTheSameForAnyGroups) {
  std::vector<std::vector<int32_t>> prompts = {random_tokens(31, 11), random_tokens(20, 12),
                                               random_tokens(9, 13)};
  std::vector<std::vector<float>> expected;
  for (auto [groups, sync] : {std::pair{1u, GroupSync::kAsync},
                              {2u, GroupSync::kAsync},
                              {3u, GroupSync::kAsync},
                              {3u, GroupSync::kLockstep}}) {
    EngineOptions dealt = options();
    dealt.prefill_groups = groups;
    dealt.sync = sync;
    auto engine = make(dealt, 5);
    std::vector<std::unique_ptr<Sequence>> sequences;
    for (size_t i = 0; i < prompts.size(); ++i) sequences.push_back(engine->new_sequence());
    StepRequest requests[] = {{sequences[0].get(), prompts[0], Want::kLast},
                              {sequences[1].get(), prompts[1], Want::kHidden},
                              {sequences[2].get(), prompts[2], Want::kAll}};
    engine->step(requests);
    std::vector<std::vector<float>> rows;
    for (size_t i = 0; i < 1 + prompts[2].size(); ++i) rows.push_back(copy(engine->logits(i)));
    for (size_t i = 0; i < prompts[1].size(); ++i) rows.push_back(copy(engine->hidden(i)));
    if (expected.empty()) expected = rows;
    EXPECT_EQ(rows, expected) << groups;
  }
}

TEST_F(EngineStep, TruncatingAndGoingOnIsExact) {
  auto engine = make(options());
  std::vector<int32_t> tokens = random_tokens(120, 5), others = random_tokens(70, 6);
  auto straight = engine->new_sequence();
  engine->prefill(*straight, tokens);
  std::vector<float> expected = copy(engine->logits(0));
  auto winding = engine->new_sequence();
  engine->prefill(*winding, std::span(tokens).first(75));
  engine->prefill(*winding, others);
  winding->truncate(75);
  engine->prefill(*winding, std::span(tokens).subspan(75));
  EXPECT_EQ(copy(engine->logits(0)), expected);
}

TEST_F(EngineStep, RefusedStepsChangeNothing) {
  auto engine = make(options());
  auto sequence = engine->new_sequence();
  engine->prefill(*sequence, random_tokens(195, 7));
  std::vector<int32_t> too_many = random_tokens(11, 8), outside = {3, 80}, negative = {-1};
  for (const auto& tokens : {too_many, outside, negative}) {
    StepRequest request{sequence.get(), tokens, Want::kLast};
    EXPECT_THROW(engine->step({&request, 1}), Error);
    EXPECT_EQ(sequence->length(), 195u);
  }
  // There are pages for three sequences of 200, so a fourth finds none.
  std::vector<std::unique_ptr<Sequence>> more;
  for (int i = 0; i < 2; ++i) {
    more.push_back(engine->new_sequence());
    engine->prefill(*more.back(), random_tokens(200, 9));
  }
  auto fourth = engine->new_sequence();
  std::vector<int32_t> one = {1};
  StepRequest request{fourth.get(), one, Want::kLast};
  EXPECT_THROW(engine->step({&request, 1}), Error);
  EXPECT_EQ(fourth->length(), 0u);
  more.pop_back();
  EXPECT_NO_THROW(engine->step({&request, 1}));
}

TEST_F(EngineStep, OptionsThatCannotBeAreRefused) {
  EngineOptions bad = options();
  bad.context = kMaxContext + 1;
  EXPECT_THROW(make(bad), Error);
  bad = options();
  bad.shards = 2;  // the machine has one node
  EXPECT_THROW(make(bad), Error);
}

TEST_F(EngineStep, ATensorThatNothingUsesIsRefused) {
  ModelSource file = parse_gguf(tiny_llama(TinyShape{.extra_tensor = true}), "tiny");
  try {
    Engine engine(file, make_spec(file), Machine::invented(1, 1), Isa::kReference, options());
    FAIL() << "loaded";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::kUnsupported);
    EXPECT_NE(std::string(e.what()).find("blk.0.attn_sinks.weight"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace hearth
