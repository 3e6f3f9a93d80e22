// Tests the blocks that are made of gpt-oss's files, and refusals.
#include <gtest/gtest.h>

#include "formats/gguf_test_bytes.h"
#include "formats/source_rows.h"
#include "formats/test_hf_folder.h"
#include "models/layer_text.h"
#include "models/registry.h"
#include "models/test_source.h"

namespace hearth {
namespace {

TestSource gpt_oss() {
  return made_source({.architecture = "gpt-oss",
                      .layers = 3,
                      .window = 8,
                      .experts = {.count = 4, .chosen = 2, .ffn = 40}});
}

void expect_gpt_oss_refused(const TestSource& source, ErrorCode code, std::string_view part) {
  const std::string error = spec_refusal(source, code);
  EXPECT_NE(error.find(part), std::string::npos) << error;
}

TEST(GptOss, EverySecondLayerSeesAWindow) {
  const TestModel model(gpt_oss());
  const ModelSpec& spec = model.spec();
  for (uint32_t layer = 0; layer < 3; ++layer) {
    const AttentionBlock& attention = *spec.block<AttentionBlock>(layer);
    EXPECT_EQ(attention.window, layer % 2 == 0 ? 8u : 0u);
    EXPECT_EQ(*attention.rope, *spec.block<AttentionBlock>(0)->rope);
    EXPECT_EQ(attention.rope->layout, RopeLayout::kHalf);
    EXPECT_EQ(spec.weight(attention.sinks).k, 4u);
    for (const LinearRef& of :
         {attention.query, attention.key, attention.value, attention.output}) {
      EXPECT_TRUE(of.bias);
    }
  }
}

TEST(GptOss, ExpertsHaveBiasesAndLimits) {
  const TestModel model(gpt_oss());
  const ModelSpec& spec = model.spec();
  const ExpertsBlock& experts = *spec.block<ExpertsBlock>(1);
  EXPECT_EQ(experts.rule.gating, Gating::kSoftmaxOfChosen);
  EXPECT_EQ(experts.activation, Activation::kClampedSwiglu);
  EXPECT_FALSE(experts.bias);
  EXPECT_EQ(spec.weight(experts.router_bias).k, 4u);
  EXPECT_EQ(spec.weight(experts.gate_bias).k, 4u * 40);
  EXPECT_EQ(spec.weight(experts.up_bias).k, 4u * 40);
  EXPECT_EQ(spec.weight(experts.down_bias).k, 4u * 64);
}

TEST(GptOss, AFileMaySayWhichLayersHaveWindows) {
  TestSource source = gpt_oss();
  source.set("gpt-oss.attention.sliding_window_pattern", std::vector<bool>{false, true, true});
  source.set("gpt-oss.expert_gating_func", uint32_t{3});
  const TestModel model(source);
  EXPECT_EQ(model.spec().block<AttentionBlock>(0)->window, 0u);
  EXPECT_EQ(model.spec().block<AttentionBlock>(2)->window, 8u);
}

TEST(GptOss, DescribesItsLayers) {
  const TestModel model(gpt_oss());
  const std::vector<LayerKind> kinds = layer_kinds(model.spec());
  ASSERT_EQ(kinds.size(), 2u);
  EXPECT_EQ(kinds[0].blocks[0],
            "attention: 4 heads on 2 of 16, RoPE 10000, sinks, window 8; norm before");
  EXPECT_EQ(kinds[1].blocks[1], "experts: 2 of 4, 40 each, SwiGLU with limits; norm before");
}

TEST(GptOss, NamesMissingOrMisshapenTensors) {
  TestSource source = gpt_oss();
  source.set("gpt-oss.attention.sliding_window", uint32_t{0});
  expect_gpt_oss_refused(source, ErrorCode::kFile, "gpt-oss.attention.sliding_window");
  expect_gpt_oss_refused(gpt_oss().set("gpt-oss.expert_gating_func", uint32_t{4}), ErrorCode::kFile,
                         "gpt-oss.expert_gating_func");
  for (const char* name :
       {"blk.1.attn_sinks.weight", "blk.0.ffn_gate_inp.bias", "blk.2.ffn_gate_exps.bias",
        "blk.1.ffn_up_exps.bias", "blk.0.ffn_down_exps.bias"}) {
    expect_gpt_oss_refused(gpt_oss().remove(name), ErrorCode::kFile, name);
    expect_gpt_oss_refused(gpt_oss().add(name, {3}), ErrorCode::kFile,
                           std::string("tensor ") + name + " is 3, but");
    expect_gpt_oss_refused(gpt_oss().add(name, {64, 5}), ErrorCode::kFile, name);
  }
  // Sinks in a Llama are refused: that architecture has none.
  expect_gpt_oss_refused(made_source({}).add("blk.0.attn_sinks.weight", {4}),
                         ErrorCode::kUnsupported, "blk.0.attn_sinks.weight");
}

// The rest of the file tests Hugging Face folders.

constexpr uint64_t kStackExperts = 3, kStackWidth = 64, kStackFfn = 32;

HfFolderWriter gpt_oss_folder() {
  HfFolderWriter writer(all_hf_families());
  writer.set("architectures", R"(["GptOssForCausalLM"])");
  for (auto [key, value] : {std::pair{"hidden_size", "64"},
                            {"num_hidden_layers", "1"},
                            {"num_attention_heads", "4"},
                            {"num_key_value_heads", "2"},
                            {"head_dim", "16"},
                            {"max_position_embeddings", "256"},
                            {"intermediate_size", "32"},
                            {"vocab_size", "7"},
                            {"num_local_experts", "3"},
                            {"num_experts_per_tok", "2"},
                            {"quantization_config", R"({"quant_method": "mxfp4"})"}}) {
    writer.set(key, value);
  }
  return writer;
}

// Adds a stack of MXFP4 blocks whose codes and scales identify their row: scale 2^(row % 3), and
// code row % 8 in all columns but the second, which has 1.
void add_blocks(HfFolderWriter& writer, const std::string& name, uint64_t experts, uint64_t rows,
                uint64_t k) {
  std::vector<std::byte> codes, scales;
  for (uint64_t row = 0; row < experts * rows; ++row) {
    const auto code = static_cast<uint8_t>(row % 8);
    for (uint64_t byte = 0; byte < k / 2; ++byte) {
      const int high = byte == 0 ? 1 : code;
      codes.push_back(static_cast<std::byte>(code | high << 4));
    }
    for (uint64_t b = 0; b < k / 32; ++b) scales.push_back(static_cast<std::byte>(127 + row % 3));
  }
  writer.add(name + "_blocks", {experts, rows, k / 32, 16}, "U8", codes);
  writer.add(name + "_scales", {experts, rows, k / 32}, "U8", scales);
}

float stored_value(uint64_t row, uint64_t column) {
  constexpr float kValues[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
  const float scale = static_cast<float>(1 << row % 3);
  return scale * kValues[column == 1 ? 1 : row % 8];
}

constexpr const char* kBoth = "model.layers.0.mlp.experts.gate_up_proj";
constexpr const char* kDown = "model.layers.0.mlp.experts.down_proj";

TEST(GptOssFolder, GatesAndUpsTakeTurns) {
  HfFolderWriter writer = gpt_oss_folder();
  add_blocks(writer, kBoth, kStackExperts, 2 * kStackFfn, kStackWidth);
  add_blocks(writer, kDown, kStackExperts, kStackWidth, kStackFfn);
  std::vector<float> bias(kStackExperts * 2 * kStackFfn);
  for (size_t i = 0; i < bias.size(); ++i) bias[i] = static_cast<float>(i);
  writer.add(std::string(kBoth) + "_bias", {kStackExperts, 2 * kStackFfn}, "F32",
             std::as_bytes(std::span(bias)));
  const ModelSource source = writer.source();
  for (auto [name, first, step, rows, k] :
       {std::tuple{"blk.0.ffn_gate_exps.weight", 0u, 2u, kStackFfn, kStackWidth},
        {"blk.0.ffn_up_exps.weight", 1u, 2u, kStackFfn, kStackWidth},
        {"blk.0.ffn_down_exps.weight", 0u, 1u, kStackWidth, kStackFfn}}) {
    const SourceTensor& tensor = source.require_tensor(name);
    EXPECT_EQ(tensor.dims, (std::vector<uint64_t>{k, rows, kStackExperts}));
    std::vector<float> row(k);
    for (uint64_t r = 0; r < rows * kStackExperts; ++r) {
      const SourceRun& run = tensor.runs[r / rows];
      PanelRows panel;
      std::vector<std::byte> scratch(scratch_bytes(tensor, DType::kF32));
      ASSERT_TRUE(panel_rows(tensor, DType::kF32, r, 1, scratch.data(), &panel));
      std::memcpy(row.data(), panel[0], k * sizeof(float));
      const uint64_t stored = r / rows * rows * step + r % rows * step + first;
      for (uint64_t c = 0; c < k; ++c)
        ASSERT_EQ(row[c], stored_value(stored, c)) << name << " " << r;
      ASSERT_EQ(run.step, step);
    }
    // The bytes of an expert's rows, from the first to the last.
    const FileRange range = run_range(tensor, 1, rows, rows);
    EXPECT_EQ(range.bytes, ((rows - 1) * step + 1) * k / 2);
  }
  const SourceTensor& gates = source.require_tensor("blk.0.ffn_gate_exps.bias");
  const SourceTensor& ups = source.require_tensor("blk.0.ffn_up_exps.bias");
  EXPECT_EQ(gates.dims, (std::vector<uint64_t>{kStackFfn, kStackExperts}));
  for (size_t i = 0; i < kStackExperts * kStackFfn; ++i) {
    float gate, up;
    std::memcpy(&gate, gates.data.data() + i * sizeof gate, sizeof gate);
    std::memcpy(&up, ups.data.data() + i * sizeof up, sizeof up);
    ASSERT_EQ(gate, 2.0f * static_cast<float>(i));
    ASSERT_EQ(up, gate + 1);
  }
}

std::string stack_error(const HfFolderWriter& writer, ErrorCode code = ErrorCode::kFile) {
  try {
    writer.source();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  return "no error";
}

TEST(GptOssFolder, StacksThatAreNoneAreNamed) {
  auto expect_in = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  HfFolderWriter more = gpt_oss_folder();
  add_blocks(more, kBoth, kStackExperts + 1, 2 * kStackFfn, kStackWidth);
  expect_in(stack_error(more), "gate_up_proj' is 4 x 64 x 64, but config.json requires 3");
  HfFolderWriter odd = gpt_oss_folder();
  add_blocks(odd, kBoth, kStackExperts, 2 * kStackFfn + 1, kStackWidth);
  expect_in(stack_error(odd), "requires 3 experts with pairs of rows");
  HfFolderWriter floats = gpt_oss_folder();
  floats.add_zeros(kDown, {kStackExperts, kStackFfn, kStackWidth}, "F8_E4M3");
  expect_in(stack_error(floats, ErrorCode::kUnsupported),
            "down_proj' holds the matrices of all experts as F8_E4M3");
  HfFolderWriter few = gpt_oss_folder();
  few.add_zeros(kDown, {kStackExperts - 1, kStackFfn, kStackWidth}, "BF16");
  expect_in(stack_error(few), "but config.json requires 3 experts");
  HfFolderWriter bias = gpt_oss_folder();
  bias.add_zeros(std::string(kDown) + "_bias", {kStackWidth}, "BF16");
  expect_in(stack_error(bias), "down_proj_bias' is 64, but config.json requires 3 experts");
  HfFolderWriter scales = gpt_oss_folder();
  scales.add_zeros(std::string(kDown) + "_blocks", {kStackExperts, kStackWidth, 1, 16}, "U8");
  expect_in(stack_error(scales), "their part");
}

}  // namespace
}  // namespace hearth
