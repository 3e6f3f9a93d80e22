// Tests the spec of a model with latent attention, and its refusals.
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "models/axis_cutting.h"
#include "models/test_source.h"
#include "models/weight_table.h"

namespace hearth {
namespace {

std::string sizes(const WeightSpec* weight) {
  if (weight == nullptr) return "none";
  return fmt::format("{} {}x{}", weight->name, weight->rows, weight->k);
}

TEST(LatentSpec, WeightsAndLayers) {
  TestModel model(latent_source({}));
  const ModelSpec& spec = model.spec();
  EXPECT_EQ(sizes(weight_named(spec, 0, "q_a")), "blk.0.attn_q_a.weight 40x64");
  EXPECT_EQ(sizes(weight_named(spec, 0, "q")), "blk.0.attn_q_b.weight 160x40");
  EXPECT_EQ(sizes(weight_named(spec, 0, "kv_a")), "blk.0.attn_kv_a_mqa.weight 64x64");
  EXPECT_EQ(sizes(weight_named(spec, 0, "k_b")), "blk.0.attn_k_b.weight 192x24");
  EXPECT_EQ(sizes(weight_named(spec, 0, "v_b")), "blk.0.attn_v_b.weight 128x48");
  EXPECT_EQ(sizes(weight_named(spec, 0, "o")), "blk.0.attn_output.weight 64x128");
  EXPECT_EQ(weight_named(spec, 0, "kv_a")->cut, WeightCut::kReplicated);
  const LatentBlock& block = *spec.block<LatentBlock>(0);
  EXPECT_EQ(block.key_length, 40u);
  EXPECT_EQ(block.value_length, 32u);
  EXPECT_EQ(spec.kept(0)->key_length, 48u + 16);
  EXPECT_EQ(spec.kept(0)->value_length, 0u);
  EXPECT_EQ(block.scale, static_cast<float>(1 / std::sqrt(40.0)));

  TestModel whole(latent_source({.q_lora_rank = 0}));
  EXPECT_EQ(sizes(weight_named(whole.spec(), 0, "q")), "blk.0.attn_q.weight 160x64");
  EXPECT_EQ(weight_named(whole.spec(), 0, "q_a"), nullptr);
}

// A unit of the heads' axis is one head if a head's values are whole blocks of 32. Otherwise it is
// the fewest heads whose values together are whole blocks.
TEST(LatentSpec, HeadsAreCutOneByOne) {
  for (auto [value, heads] : {std::pair{32u, 2u}, {20u, 0u}, {8u, 4u}}) {
    TestModel model(latent_source({.heads = 6, .value = value}));
    std::vector<CutAxis> axes = cut_axes(model.spec(), std::vector<uint32_t>{1, 1, 1});
    const CutAxis& axis = axes[weight_named(model.spec(), 0, "q")->axis];
    EXPECT_EQ(axis.unit_items, value == 32 ? 1u : value == 20 ? 8u : 4u);
    EXPECT_EQ(axis.cuts.shard(0).size() * axis.unit_items, heads) << value;
  }
}

// The key yarn_log_multiplier makes YaRN scale scores instead of cosines.
TEST(LatentSpec, YarnScalesScores) {
  TestSource source = latent_source({});
  source.set("deepseek2.rope.scaling.type", "yarn").set("deepseek2.rope.scaling.factor", 40.0f);
  const double plain = 1 / std::sqrt(40.0);
  {
    TestModel model(source);
    EXPECT_EQ(model.spec().first<LatentBlock>()->scale, static_cast<float>(plain));
    EXPECT_NEAR(make_rope_table(model.spec().first<LatentBlock>()->rope, 4096).magnitude,
                1 + 0.1 * std::log(40), 1e-12);
  }
  source.set("deepseek2.rope.scaling.yarn_log_multiplier", 0.0707f);
  TestModel model(source);
  const double grown = 1 + double{0.0707f} * std::log(40);
  EXPECT_EQ(model.spec().first<LatentBlock>()->scale, static_cast<float>(grown * grown * plain));
  EXPECT_EQ(make_rope_table(model.spec().first<LatentBlock>()->rope, 4096).magnitude, 1);
}

TEST(LatentSpec, KeysAndValuesInOneMatrixAreRefused) {
  TestSource source = latent_source({.heads = 2});
  source.add("blk.0.attn_kv_b.weight", {48, 112});
  TestModel beside(source);  // the tensor is ignored
  EXPECT_EQ(weight_named(beside.spec(), 0, "v_b")->rows, 64u);
  source.remove("blk.0.attn_k_b.weight").remove("blk.0.attn_v_b.weight");
  EXPECT_EQ(spec_refusal(source, ErrorCode::kUnsupported),
            "'test.gguf' has tensors attn_kv_b instead of attn_k_b and attn_v_b: it was converted "
            "by an old program; convert the model again with a new one");
}

TEST(LatentSpec, SizesThatCannotBeAreRefusedByTheirKey) {
  struct Case {
    const char* key;
    uint32_t value;
    const char* says;
  };
  for (const Case& c : {
           Case{"attention.kv_lora_rank", 0, "but the value must be 1 to 512"},
           Case{"attention.kv_lora_rank", 513, "but the value must be 1 to 512"},
           Case{"attention.q_lora_rank", 1u << 31, "but the value must be 1 to 131072"},
           Case{"attention.key_length_mla", 600, "but the value must be 1 to 512"},
           Case{"attention.value_length_mla", 0, "but the value must be 1 to 512"},
           Case{"attention.head_count_kv", 4, "but the value must be 1"},
           Case{"attention.key_length", 192, "but the value must be 64"},
           Case{"attention.value_length", 32, "but the value must be 48"},
           Case{"rope.dimension_count", 40, "less than the head's 40, and at most 128"},
           Case{"rope.dimension_count", 15, "an even number up to the head's 40"},
       }) {
    SCOPED_TRACE(c.key);
    TestSource source = latent_source({});
    source.set(std::string("deepseek2.") + c.key, c.value);
    const std::string error = spec_refusal(source, ErrorCode::kFile);
    EXPECT_NE(error.find(fmt::format("deepseek2.{} = {}", c.key, c.value)), std::string::npos)
        << error;
    EXPECT_NE(error.find(c.says), std::string::npos) << error;
  }
  TestSource source = latent_source({});
  source.set("deepseek2.attention.causal", false);
  EXPECT_NE(spec_refusal(source, ErrorCode::kFile)
                .find("attention.causal = false, but the value must be true"),
            std::string::npos);
  source = latent_source({});
  source.set("deepseek2.rope.scaling.type", "yarn");
  source.set("deepseek2.rope.scaling.yarn_log_multiplier", -1.0f);
  EXPECT_NE(spec_refusal(source, ErrorCode::kFile).find("yarn_log_multiplier = -1"),
            std::string::npos);
  // A tensor whose shape belongs to other sizes is refused.
  source = latent_source({});
  source.add("blk.0.attn_k_b.weight", {24, 48, 5});
  EXPECT_NE(spec_refusal(source, ErrorCode::kFile).find("24 x 48 x 5"), std::string::npos);
}

}  // namespace
}  // namespace hearth
