// Tests that models made of a description (formats/test_model.h) match the description.
#include <gtest/gtest.h>

#include "formats/gguf.h"
#include "models/registry.h"
#include "models/test_source.h"

namespace hearth {
namespace {

ModelShape shape_of(std::string_view architecture) {
  return {.architecture = architecture, .layers = 2, .kv_heads = 4, .tied = false};
}

TEST(MadeModel, ArchitecturesHaveSpecs) {
  for (const char* architecture : {"llama", "qwen2", "qwen3", "deepseek2", "bert", "nomic-bert",
                                   "jina-bert-v2", "gemma3", "mistral3", "phi3", "seed_oss"}) {
    SCOPED_TRACE(architecture);
    const TestModel model(made_source(shape_of(architecture)));
    EXPECT_EQ(model.spec().architecture->name, std::string_view(architecture));
    EXPECT_EQ(model.spec().layers.size(), 2u);
  }
}

TEST(MadeModel, ExpertsStandBehindDenseLayers) {
  for (const char* architecture : {"llama", "qwen3moe", "deepseek2", "mistral3"}) {
    SCOPED_TRACE(architecture);
    ModelShape shape = shape_of(architecture);
    shape.experts = {.count = 4, .chosen = 2, .ffn = 32, .shared = 1, .dense = 1};
    const TestModel model(made_source(shape));
    EXPECT_EQ(model.spec().expert_count(), 4u);
    uint32_t of_experts = 0;
    for (const WeightSpec& weight : model.spec().weights) {
      if (weight.expert < 0) continue;
      EXPECT_EQ(weight.layer, 1);
      ++of_experts;
    }
    EXPECT_EQ(of_experts, 3 * 4u);
  }
}

// Files of encoders may have forms of tensors that are rare.
TEST(MadeModel, LayersMayDifferInForm) {
  ModelShape shape = shape_of("jina-bert-v2");
  const LayerForm forms[] = {{}, {UpForm::kGateAbove, true}};
  shape.forms = forms;
  shape.biases = Biases::kAll;
  shape.fused = true;
  const TestModel model(made_source(shape));
  EXPECT_NE(model.source().find_tensor("blk.0.ffn_gate.bias"), nullptr);
  EXPECT_EQ(model.source().find_tensor("blk.1.ffn_gate.weight"), nullptr);
  EXPECT_EQ(model.source().find_tensor("blk.1.ffn_up.weight")->dims[1], 2 * 96u);
  EXPECT_NE(model.source().find_tensor("blk.1.attn_norm_2.weight"), nullptr);
}

TEST(MadeModel, DataIsZerosOrWhatACallerMakes) {
  const TestSource source = made_source({.type = DType::kQ8_0});
  const ModelSource zeros = parse_gguf(source.gguf(), "zeros.gguf");
  const ModelSource ones = parse_gguf(source.gguf([](const TestTensor& tensor) {
    return std::vector<std::byte>(tensor_bytes(tensor), std::byte{1});
  }),
                                      "ones.gguf");
  ASSERT_EQ(zeros.tensors().size(), source.tensors().size());
  for (size_t i = 0; i < zeros.tensors().size(); ++i) {
    EXPECT_EQ(zeros.tensors()[i].name, source.tensors()[i].name);
    EXPECT_EQ(zeros.tensors()[i].data.back(), std::byte{0});
    EXPECT_EQ(ones.tensors()[i].data.front(), std::byte{1});
  }
}

}  // namespace
}  // namespace hearth
