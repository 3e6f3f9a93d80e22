#include "engine/choose_weights.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "engine/engine_layout.h"
#include "models/test_source.h"

namespace hearth {
namespace {

// A model of BF16 whose rows are whole blocks of every type.
class ChooseWeights : public testing::Test {
 protected:
  ChooseWeights() { options_.threads = 1; }

  ModelSpec with(WeightPolicy policy) const { return make_spec(source_, policy); }
  // Returns the memory that the model needs with weights of this type and its KV pages.
  uint64_t needed(std::optional<DType> type) {
    machine_.memory_available = 0;  // unknown
    return lay_out_engine(with({type}), machine_, Isa::kReference, options_).memory().total();
  }
  std::optional<DType> chosen(uint64_t available) {
    machine_.memory_available = available;
    const ModelSpec open = with({.automatic = true});
    const std::vector<EngineOptions> engines(engines_, options_);
    WeightChoice choice = choose_weights(source_, open, machine_, Isa::kReference, engines);
    EXPECT_FALSE(choice.spec.policy.automatic);
    EXPECT_EQ(choice.spec.weights.size(), open.weights.size());
    fits_ = choice.fits;
    return choice.spec.policy.type;
  }

  TestSource made_ =
      llama_source({.layers = 4, .width = 512, .heads = 4, .ffn = 1024, .type = DType::kBF16});
  ModelSource source_ = made_.source();
  Machine machine_ = Machine::invented(1, 1);
  size_t engines_ = 1;
  bool fits_ = false;  // WeightChoice::fits of the last choice
  EngineOptions options_;
};

TEST_F(ChooseWeights, IsTheFinestThatFitsBesideTheKeysAndValuesAskedFor) {
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
    EXPECT_TRUE(fits_);
    EXPECT_EQ(chosen(1), finer);  // start_engine() will refuse it
    EXPECT_FALSE(fits_);
  }
}

TEST_F(ChooseWeights, CountsACopyForEveryEngine) {
  const uint64_t enough = needed(std::nullopt);
  engines_ = 3;
  EXPECT_EQ(chosen(3 * enough), std::nullopt);
  EXPECT_EQ(chosen(3 * enough - 1), DType::kQ8_0);
}

TEST_F(ChooseWeights, IsAsStoredWhereNoTypeChangesAWeight) {
  TestSource made = encoder_source({.width = 64, .heads = 2, .ffn = 64, .type = DType::kQ8_0});
  const ModelSource source = made.source();
  const ModelSpec open = make_spec(source, {.automatic = true});
  machine_.memory_available = 1;
  const WeightChoice choice =
      choose_weights(source, open, machine_, Isa::kReference, {&options_, 1});
  EXPECT_EQ(choice.spec.policy.type, std::nullopt);
  EXPECT_FALSE(choice.fits);
}

TEST_F(ChooseWeights, CountsWhatKeysAndValuesOfAServerNeed) {
  const uint64_t fits = needed(std::nullopt);
  options_.kv_share = 0.25;
  EXPECT_NE(chosen(fits), std::nullopt);
  options_.kv_share = 0;
  options_.kv_bytes = 1;
  EXPECT_THROW(chosen(fits), Error);  // too little memory for any context
}

TEST_F(ChooseWeights, KeepsStoredTypesWhereMemoryIsUnknown) {
  EXPECT_EQ(chosen(0), std::nullopt);
  EXPECT_TRUE(fits_);
}

}  // namespace
}  // namespace hearth
