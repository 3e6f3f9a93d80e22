#include "models/layer_text.h"

#include <gtest/gtest.h>

#include "models/test_source.h"

namespace hearth {
namespace {

std::vector<LayerKind> kinds_of(const ModelShape& shape) {
  return layer_kinds(TestModel(made_source(shape)).spec());
}

TEST(LayerText, OneKindOfADecoder) {
  const std::vector<LayerKind> kinds = kinds_of({.architecture = "qwen3", .layers = 3});
  ASSERT_EQ(kinds.size(), 1u);
  EXPECT_EQ(kinds[0].layers, (std::vector<uint32_t>{0, 1, 2}));
  EXPECT_EQ(kinds[0].blocks, (std::vector<std::string>{
                                 "attention: 4 heads on 2 of 16, norms of heads, RoPE 10000; norm "
                                 "before",
                                 "feed-forward: 96, SiLU gated; norm before"}));
}

TEST(LayerText, LayersWithAWindowAndWithout) {
  const std::vector<LayerKind> kinds =
      kinds_of({.architecture = "gemma3", .layers = 7, .window = 32});
  ASSERT_EQ(kinds.size(), 2u);
  EXPECT_EQ(kinds[0].layers, (std::vector<uint32_t>{0, 1, 2, 3, 4, 6}));
  EXPECT_EQ(kinds[1].layers, std::vector<uint32_t>{5});
  EXPECT_NE(kinds[0].blocks[0].find("window 32; norms before and behind"), std::string::npos);
  EXPECT_EQ(kinds[1].blocks[0].find("window"), std::string::npos);
  EXPECT_EQ(kinds[0].blocks[1], "feed-forward: 96, GELU by tanh gated; norms before and behind");
}

TEST(LayerText, LatentsAndExpertsBehindDenseLayers) {
  const std::vector<LayerKind> kinds =
      kinds_of({.architecture = "deepseek2",
                .layers = 2,
                .experts = {.count = 4, .chosen = 2, .ffn = 32, .shared = 1, .dense = 1}});
  ASSERT_EQ(kinds.size(), 2u);
  EXPECT_EQ(kinds[0].blocks[0].substr(0, 26), "latent attention: 4 heads ");
  EXPECT_EQ(kinds[1].blocks[1], "experts: 2 of 4, 32 each, 32 shared; norm before");
}

TEST(LayerText, AnEncoderSeesTheWholeText) {
  const std::vector<LayerKind> kinds = kinds_of({.architecture = "bert", .kv_heads = 4});
  EXPECT_EQ(kinds[0].blocks[0], "attention: 4 heads on 4 of 16, of the whole text; norm after");
}

}  // namespace
}  // namespace hearth
