// Tests the spec of a model with short convolutions, and its refusals.
#include <gtest/gtest.h>

#include "base/error.h"
#include "formats/test_model.h"
#include "models/layer_text.h"
#include "models/test_source.h"

namespace hearth {
namespace {

TestSource conv_source(const char* architecture = "lfm2") {
  const bool experts = std::string_view(architecture) == "lfm2moe";
  return made_source({.architecture = architecture,
                      .layers = 4,
                      .width = 96,
                      .experts = {.count = experts ? 5u : 0u, .dense = 1},
                      .delta = {.taps = 3, .interval = 2}});
}

TEST(ShortConvSpec, LayersWithoutKvHeadsKeepStates) {
  TestModel model(conv_source());
  const ModelSpec& spec = model.spec();
  EXPECT_TRUE(spec.has_states());
  for (uint32_t layer = 0; layer < 4; ++layer) {
    EXPECT_EQ(spec.kept(layer).has_value(), layer % 2 == 1) << layer;
    EXPECT_EQ(spec.kept_state(layer).has_value(), layer % 2 == 0) << layer;
  }
  EXPECT_EQ(spec.kept_state(0)->item_floats, 2u);
  const ShortConvBlock& block = *spec.block<ShortConvBlock>(0);
  EXPECT_EQ(spec.weight(block.after).first, 96u);
  EXPECT_EQ(spec.weight(block.input).first, 192u);
  EXPECT_EQ(spec.weight(block.conv).table_columns, 3u);
  EXPECT_EQ(spec.weight(spec.last_norm->weight).name, "token_embd_norm.weight");
  EXPECT_EQ(block_text(spec, spec.layers[0].blocks[0]),
            "short convolution of 3, gated; norm before");
  TestModel moe(conv_source("lfm2moe"));
  EXPECT_EQ(moe.spec().block<ExpertsBlock>(0), nullptr);
  EXPECT_EQ(moe.spec().block<ExpertsBlock>(1)->rule.gating, Gating::kSigmoid);
}

TEST(ShortConvSpec, RefusesInvalidFieldsByName) {
  for (uint32_t taps : {0u, 17u}) {
    TestSource source = conv_source();
    source.set("lfm2.shortconv.l_cache", taps);
    EXPECT_NE(spec_refusal(source, ErrorCode::kFile).find("but the value must be 1 to 16"),
              std::string::npos);
  }
  for (const char* name :
       {"shortconv.conv.weight", "shortconv.in_proj.weight", "shortconv.out_proj.weight"}) {
    TestSource source = conv_source();
    const std::string tensor = std::string("blk.2.") + name;
    source.add(tensor, {7, 3});
    EXPECT_NE(spec_refusal(source, ErrorCode::kFile).find(tensor + " is 7 x 3"), std::string::npos);
    source.remove(tensor);
    EXPECT_NE(spec_refusal(source, ErrorCode::kFile).find(tensor), std::string::npos);
  }
  TestSource none = conv_source();
  none.set("lfm2.attention.head_count_kv", std::vector<uint32_t>(4, 0));
  EXPECT_NE(spec_refusal(none, ErrorCode::kUnsupported).find("none with attention"),
            std::string::npos);
  TestSource few = conv_source();
  few.set("lfm2.attention.head_count_kv", std::vector<uint32_t>{0, 2});
  EXPECT_NE(spec_refusal(few, ErrorCode::kFile).find("head_count_kv"), std::string::npos);
}

}  // namespace
}  // namespace hearth
