#include "formats/hf_quant.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/json_reader.h"

namespace hearth {
namespace {

HfQuant quant_of(const std::string& json, bool modelopts = false) {
  const std::string file = "config.json";
  const boost::json::value value = read_json(json);
  const ConfigReader reader(value.get_object(), file);
  return modelopts ? read_hf_quant_file(reader) : read_hf_quant(reader);
}

HfQuant quant_config(const std::string& inside) {
  return quant_of("{\"quantization_config\": {" + inside + "}}");
}

std::string quant_error(const std::string& inside) {
  try {
    quant_config(inside);
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

void expect_one(const HfQuant& quant, const HfWeights& wanted) {
  ASSERT_EQ(quant.weights.size(), 1u);
  const HfWeights& one = quant.weights[0];
  EXPECT_EQ(one.layout, wanted.layout);
  EXPECT_EQ(one.bits, wanted.bits);
  EXPECT_EQ(one.scaled, wanted.scaled);
  EXPECT_EQ(one.group, wanted.group);
  EXPECT_EQ(one.symmetric, wanted.symmetric);
}

TEST(HfQuantConfig, NothingIsQuantised) {
  EXPECT_TRUE(quant_of("{}").method.empty());
  EXPECT_TRUE(quant_of(R"({"quantization_config": null})").method.empty());
}

TEST(HfQuantConfig, Fp8AndMx) {
  expect_one(quant_config(R"("quant_method": "fp8", "weight_block_size": [128, 128])"),
             {HfLayout::kFp8, 8, HfScaled::kSquare});
  expect_one(quant_config(R"("quant_method": "fp8", "activation_scheme": "static")"),
             {HfLayout::kFp8, 8, HfScaled::kTensor});
  expect_one(quant_config(R"("quant_method": "fbgemm_fp8")"), {HfLayout::kFp8, 8, HfScaled::kRow});
  expect_one(quant_config(R"("quant_method": "mxfp4", "modules_to_not_convert": ["a"])"),
             {HfLayout::kMxfp4, 4, HfScaled::kGroup, 32});
  expect_one(quant_config(R"("quant_method": "mxfp8")"),
             {HfLayout::kMxfp8, 8, HfScaled::kGroup, 32});
}

TEST(HfQuantConfig, Gptq) {
  const HfQuant first = quant_config(
      R"("quant_method": "gptq", "bits": 4, "group_size": 128, "sym": true, "desc_act": false)");
  expect_one(first, {HfLayout::kGptq, 4, HfScaled::kGroup, 128});
  EXPECT_EQ(first.zero_offset, 1u);
  EXPECT_FALSE(first.varies);
  const HfQuant second = quant_config(
      R"("quant_method": "gptq", "bits": 8, "group_size": -1, "sym": false,
         "checkpoint_format": "gptq_v2", "dynamic": {"-:.*gate.*": {}})");
  expect_one(second, {HfLayout::kGptq, 8, HfScaled::kRow, 0, false});
  EXPECT_EQ(second.zero_offset, 0u);
  EXPECT_TRUE(second.varies);
}

TEST(HfQuantConfig, AwqAndAutoRound) {
  expect_one(quant_config(R"("quant_method": "awq", "bits": 4, "group_size": 128,
                             "version": "gemm", "zero_point": true)"),
             {HfLayout::kAwq, 4, HfScaled::kGroup, 128, false});
  const HfQuant gptq = quant_config(R"("quant_method": "auto-round", "bits": 4, "group_size": 64,
      "packing_format": "auto_round:auto_gptq", "extra_config": {"lm_head": {"bits": 16}})");
  expect_one(gptq, {HfLayout::kGptq, 4, HfScaled::kGroup, 64});
  EXPECT_EQ(gptq.zero_offset, 1u);
  EXPECT_TRUE(gptq.varies);
  expect_one(quant_config(R"("quant_method": "auto-round", "bits": 4, "group_size": 64,
                             "packing_format": "auto_round:auto_awq")"),
             {HfLayout::kAwq, 4, HfScaled::kGroup, 64, false});
}

TEST(HfQuantConfig, Modelopt) {
  for (const auto& [algorithm, layout, scaled] :
       {std::tuple("FP8", HfLayout::kFp8, HfScaled::kTensor),
        std::tuple("FP8_PER_CHANNEL_PER_TOKEN", HfLayout::kFp8, HfScaled::kRow),
        std::tuple("NVFP4", HfLayout::kNvfp4, HfScaled::kGroup)}) {
    const std::string says = fmt::format(R"("quant_algo": "{}")", algorithm);
    const HfQuant inside = quant_config(R"("quant_method": "modelopt", )" + says);
    const HfQuant beside = quant_of(
        R"({"quantization": {"exclude_modules": ["lm_head"], )" + says + "}}", /*modelopts=*/true);
    for (const HfQuant& quant : {inside, beside}) {
      EXPECT_EQ(quant.method, "modelopt");
      ASSERT_EQ(quant.weights.size(), 1u);
      EXPECT_EQ(quant.weights[0].layout, layout);
      EXPECT_EQ(quant.weights[0].scaled, scaled);
    }
    EXPECT_TRUE(beside.keeps("lm_head"));
  }
  const HfQuant mixed = quant_of(
      R"({"quantization": {"quant_algo": "MIXED_PRECISION", "quantized_layers": {
            "a": {"quant_algo": "FP8"}, "b": {"quant_algo": "NVFP4", "group_size": 16},
            "c": {"quant_algo": "FP8"}}}})",
      /*modelopts=*/true);
  EXPECT_EQ(mixed.weights.size(), 2u);
}

std::string compressed(const char* format, const char* weights) {
  return fmt::format(R"("quant_method": "compressed-tensors", "format": "{}", "config_groups": {{
      "group_0": {{"targets": ["Linear"], "weights": {{{}}}, "input_activations": null}}}},
      "ignore": ["lm_head", "re:.*mlp.gate$"])",
                     format, weights);
}

TEST(HfQuantConfig, CompressedTensors) {
  const char* group = R"("num_bits": 4, "type": "int", "symmetric": false, "strategy": "group",
      "group_size": 32)";
  const HfQuant packed = quant_config(compressed("pack-quantized", group));
  expect_one(packed, {HfLayout::kPacked, 4, HfScaled::kGroup, 32, false});
  EXPECT_TRUE(packed.keeps("model.layers.3.mlp.gate"));
  EXPECT_FALSE(packed.keeps("model.layers.3.mlp.gate_proj"));
  const char* row = R"("num_bits": 8, "type": "int", "strategy": "channel", "group_size": null)";
  expect_one(quant_config(compressed("pack-quantized", row)),
             {HfLayout::kPacked, 8, HfScaled::kRow});
  expect_one(quant_config(compressed("int-quantized", row)), {HfLayout::kInt8, 8, HfScaled::kRow});
  const char* fp8 = R"("num_bits": 8, "type": "float", "strategy": "tensor")";
  expect_one(quant_config(compressed("float-quantized", fp8)),
             {HfLayout::kFp8, 8, HfScaled::kTensor});
  expect_one(quant_config(compressed("naive-quantized", fp8)),
             {HfLayout::kFp8, 8, HfScaled::kTensor});
  const char* square = R"("num_bits": 8, "type": "float", "strategy": "block",
      "block_structure": [128, 128])";
  expect_one(quant_config(compressed("float-quantized", square)),
             {HfLayout::kFp8, 8, HfScaled::kSquare});
  const char* nv = R"("num_bits": 4, "type": "float", "strategy": "tensor_group",
      "group_size": 16)";
  expect_one(quant_config(compressed("nvfp4-pack-quantized", nv)),
             {HfLayout::kNvfp4, 4, HfScaled::kGroup, 16});
  const char* mx = R"("num_bits": 4, "type": "float", "strategy": "group", "group_size": 32)";
  expect_one(quant_config(compressed("mxfp4-pack-quantized", mx)),
             {HfLayout::kMxfp4, 4, HfScaled::kGroup, 32});
}

TEST(HfQuantConfig, NamesUnsupportedQuantization) {
  struct Case {
    std::string inside;
    const char* found;
  };
  const Case cases[] = {
      {R"("quant_method": "bitsandbytes")",
       "quantization_config.quant_method = \"bitsandbytes\", which this version does not support: "
       "use "
       "the model in BF16 or FP8"},
      {R"("quant_method": "hqq")", "\"hqq\", which this version does not support: use"},
      {R"("quant_method": "aqlm")", "\"aqlm\", which this version does not support: use"},
      {R"("quant_method": "exl2")", "\"exl2\", which this version does not support: use"},
      {R"("bits": 4)", "quantization_config.quant_method = missing"},
      {R"("quant_method": "fp8", "fmt": "e5m2")", "fmt = \"e5m2\""},
      {R"("quant_method": "fp8", "weight_block_size": [64, 128])", "weight_block_size = an array"},
      {R"("quant_method": "gptq", "bits": 3, "group_size": 128)", "bits = 3"},
      {R"("quant_method": "gptq", "bits": 4, "group_size": 0)", "group_size = 0"},
      {R"("quant_method": "gptq", "bits": 4, "group_size": 128, "checkpoint_format": "marlin")",
       "checkpoint_format = \"marlin\""},
      {R"("quant_method": "awq", "bits": 4, "group_size": 128, "version": "gemv")",
       "version = \"gemv\""},
      {R"("quant_method": "auto-round", "bits": 4, "packing_format": "auto_round")",
       "packing_format = \"auto_round\""},
      {R"("quant_method": "modelopt", "quant_algo": "W4A8_AWQ")", "quant_algo = \"W4A8_AWQ\""},
      {R"("quant_method": "compressed-tensors")", "config_groups = missing"},
      {compressed("marlin-24", R"("num_bits": 4)"), "format = \"marlin-24\""},
      {compressed("pack-quantized", R"("num_bits": 3, "group_size": 32)"), "weights.num_bits = 3"},
      {compressed("float-quantized", R"("num_bits": 8, "type": "float", "strategy": "token")"),
       "weights.strategy = \"token\""},
  };
  for (const Case& test : cases) {
    const std::string error = quant_error(test.inside);
    EXPECT_NE(error.find(test.found), std::string::npos) << test.inside << ": " << error;
  }
  try {
    quant_of(R"({"quantization": {"group_size": 64, "bits": 4}})");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("MLX"), std::string::npos) << error.what();
  }
}

TEST(HfQuantConfig, ModulesThatAreKept) {
  HfQuant quant;
  quant.kept = {"model.layers.0", "re:^model\\.layers\\.1\\..*_proj$", "*.gate", "vision*"};
  EXPECT_TRUE(quant.keeps("model.layers.0"));
  EXPECT_TRUE(quant.keeps("model.layers.0.mlp.up_proj"));
  EXPECT_FALSE(quant.keeps("model.layers.01.mlp.up_proj"));
  EXPECT_TRUE(quant.keeps("model.layers.1.mlp.up_proj"));
  EXPECT_FALSE(quant.keeps("model.layers.1.mlp.up_proj2"));
  EXPECT_TRUE(quant.keeps("model.layers.7.mlp.gate"));
  EXPECT_TRUE(quant.keeps("vision_tower.x"));
  EXPECT_FALSE(quant.keeps("a.vision_tower.x"));
}

}  // namespace
}  // namespace hearth
