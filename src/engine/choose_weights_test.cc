#include "engine/choose_weights.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "engine/engine_layout.h"
#include "models/test_source.h"

namespace hearth {
namespace {

// A model of BF16 whose rows are whole blocks of every type.
class WeightChoice : public testing::Test {
 protected:
  WeightChoice() { options_.threads = 1; }

  ModelSpec with(WeightPolicy policy) const { return make_spec(source_, policy); }
  // The memory of a model with these weights and its keys and values of `positions`.
  uint64_t needed(std::optional<DType> type) {
    machine_.memory_available = 0;  // unknown
    return lay_out_engine(with({type}), machine_, Isa::kReference, options_).memory().total();
  }
  std::optional<DType> chosen(uint64_t available) {
    machine_.memory_available = available;
    const ModelSpec open = with({.automatic = true});
    const ModelSpec spec = choose_weights(source_, open, machine_, Isa::kReference, options_);
    EXPECT_FALSE(spec.policy.automatic);
    EXPECT_EQ(spec.weights.size(), open.weights.size());
    return spec.policy.type;
  }

  TestSource made_ =
      llama_source({.layers = 4, .width = 512, .heads = 4, .ffn = 1024, .type = DType::kBF16});
  ModelSource source_ = made_.source();
  Machine machine_ = Machine::invented(1, 1);
  EngineOptions options_;
};

TEST_F(WeightChoice, IsTheFinestThatFitsBesideTheKeysAndValuesAskedFor) {
  for (const uint32_t sequences : {1u, 4u}) {
    options_.sequences = sequences;
    std::optional<DType> finer;
    for (const DType type : {DType::kQ8_0, DType::kQ6_K, DType::kQ5_K, DType::kQ4_K}) {
      const uint64_t enough = needed(finer);
      EXPECT_EQ(chosen(enough), finer);
      EXPECT_EQ(chosen(enough - 1), type);
      finer = type;
    }
    EXPECT_EQ(chosen(needed(finer)), finer);
    EXPECT_EQ(chosen(1), finer);  // the engine will refuse it
  }
}

TEST_F(WeightChoice, CountsWhatKeysAndValuesOfAServerNeed) {
  const uint64_t fits = needed(std::nullopt);
  options_.kv_share = 0.25;
  EXPECT_NE(chosen(fits), std::nullopt);
  options_.kv_share = 0;
  options_.kv_bytes = 1;
  EXPECT_THROW(chosen(fits), Error);  // of no context
}

TEST_F(WeightChoice, LeavesWhatIsSaid) {
  machine_.memory_available = 1;
  const ModelSpec said = with({DType::kQ6_K});
  const ModelSpec spec = choose_weights(source_, said, machine_, Isa::kReference, options_);
  EXPECT_EQ(spec.policy.type, DType::kQ6_K);
  EXPECT_EQ(spec.weights[1].packed, said.weights[1].packed);
}

TEST_F(WeightChoice, IsAsStoredWhereNobodyKnowsTheMemory) { EXPECT_EQ(chosen(0), std::nullopt); }

}  // namespace
}  // namespace hearth
