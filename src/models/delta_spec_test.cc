// Tests the spec of a model whose layers keep states, and its refusals.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "formats/gguf.h"
#include "formats/test_model.h"
#include "models/axis_cutting.h"
#include "models/layer_text.h"
#include "models/test_source.h"
#include "models/weight_table.h"

namespace hearth {
namespace {

TestSource delta_source(std::string_view architecture, const ModelDelta& delta,
                        DType type = DType::kF32) {
  const bool dense = architecture == "qwen35";
  return made_source({.architecture = architecture,
                      .layers = 4,
                      .width = 256,
                      .type = type,
                      .experts = {.count = dense ? 0u : 5u, .shared = dense ? 0u : 1u},
                      .delta = delta});
}

std::string size_and_place(const WeightSpec& weight) {
  return fmt::format("{} {}x{} from {}", weight.name, weight.rows, weight.k, weight.first);
}

// Dealt value heads (DeltaHeads) make two matrices: the first value heads of all key heads, and the
// second ones.
TEST(DeltaSpec, WeightsAreCutByKeyHeads) {
  TestModel model(delta_source("qwen35", {.keys = 2, .values = 4, .length = 16}));
  const ModelSpec& spec = model.spec();
  const DeltaBlock& block = *spec.block<DeltaBlock>(0);
  ASSERT_EQ(block.value.size(), 2u);
  EXPECT_EQ(size_and_place(spec.weight(block.query)), "blk.0.attn_qkv.weight 32x256 from 0");
  EXPECT_EQ(size_and_place(spec.weight(block.key)), "blk.0.attn_qkv.weight 32x256 from 32");
  EXPECT_EQ(size_and_place(spec.weight(block.value[1])), "blk.0.attn_qkv.weight 32x256 from 96");
  EXPECT_EQ(size_and_place(spec.weight(block.gate[1])), "blk.0.attn_gate.weight 32x256 from 32");
  EXPECT_EQ(size_and_place(spec.weight(block.beta[1])), "blk.0.ssm_beta.weight 2x256 from 2");
  EXPECT_EQ(spec.weight(block.conv).table_columns, 4u);
  EXPECT_EQ(spec.kept_state(0)->item_floats, 3u * 4 * 16 + 2 * 16 * 16);
  EXPECT_FALSE(spec.kept(0));
  EXPECT_TRUE(spec.kept(3));
  EXPECT_FALSE(spec.kept_state(3));
  EXPECT_TRUE(spec.block<AttentionBlock>(3)->gated);
  EXPECT_EQ(block_text(spec, spec.layers[0].blocks[0]),
            "gated delta rule: 4 heads on 2 of 16, convolution of 4; norm before");

  TestModel next(delta_source("qwen3next", {.keys = 2, .values = 6, .length = 16}));
  const DeltaBlock& beside = *next.spec().block<DeltaBlock>(0);
  ASSERT_EQ(beside.value.size(), 1u);
  EXPECT_TRUE(beside.beta.empty());
  EXPECT_EQ(size_and_place(next.spec().weight(beside.alpha[0])),
            "blk.0.ssm_ba.weight 12x256 from 0");
  EXPECT_TRUE(next.spec().block<ExpertsBlock>(0)->shared_gate);
}

// A cut's unit of key heads makes runs of the output's columns. Runs are whole blocks of the file's
// type and, if possible, of 256, the largest block of any type.
TEST(DeltaSpec, UnitsKeepBlocksWhole) {
  struct Case {
    ModelDelta delta;
    DType type;
    uint32_t unit, run;
  };
  for (const Case& c : {
           Case{{.keys = 16, .values = 32, .length = 128}, DType::kQ4_K, 2, 256},
           Case{{.keys = 16, .values = 16, .length = 128}, DType::kQ4_K, 1, 0},
           Case{{.keys = 8, .values = 24, .length = 64}, DType::kF32, 4, 256},
           Case{{.keys = 4, .values = 8, .length = 16}, DType::kF32, 2, 32},
           Case{{.keys = 3, .values = 6, .length = 16}, DType::kF32, 3, 0},
           Case{{.keys = 2, .values = 4, .length = 128}, DType::kQ4_K, 2, 0},
       }) {
    TestModel model(delta_source("qwen35", c.delta, c.type));
    const ModelSpec& spec = model.spec();
    const DeltaBlock& block = *spec.block<DeltaBlock>(0);
    const WeightSpec& output = spec.weight(block.output);
    EXPECT_EQ(block.heads.unit, c.unit);
    EXPECT_EQ(spec.axes[output.axis].unit_items, c.unit);
    EXPECT_EQ(output.column_runs.length, c.run);
    // Each value head has one index in the pack and one in the file.
    std::vector<bool> met(c.delta.values, false), filed(c.delta.values, false);
    for (uint32_t j = 0; j < block.heads.keys; ++j) {
      for (uint32_t i = 0; i < block.heads.each; ++i) {
        met[block.heads.in_output(j, i)] = true;
        filed[block.heads.in_file(j, i)] = true;
      }
    }
    EXPECT_EQ(std::count(met.begin(), met.end(), true), c.delta.values);
    EXPECT_EQ(std::count(filed.begin(), filed.end(), true), c.delta.values);
  }
}

TEST(DeltaSpec, SizesThatCannotBeAreRefusedByTheirKey) {
  struct Case {
    const char* key;
    uint32_t value;
    const char* says;
  };
  for (const Case& c : {
           Case{"ssm.conv_kernel", 0, "but the value must be 1 to 16"},
           Case{"ssm.conv_kernel", 17, "but the value must be 1 to 16"},
           Case{"ssm.state_size", 0, "but the value must be 1 to 512"},
           Case{"ssm.state_size", 20, ""},
           Case{"ssm.group_count", 3, ""},
           Case{"ssm.time_step_rank", 5, "a multiple of the 2 key heads"},
           Case{"ssm.inner_size", 65, "but the value must be 4 heads of 16"},
           Case{"full_attention_interval", 0, ""},
       }) {
    SCOPED_TRACE(c.key);
    TestSource source = delta_source("qwen35", {});
    source.set(std::string("qwen35.") + c.key, c.value);
    const std::string error = spec_refusal(source, ErrorCode::kFile);
    EXPECT_NE(error.find("qwen35."), std::string::npos) << error;
    EXPECT_NE(error.find(c.says), std::string::npos) << error;
  }
}

TEST(DeltaSpec, TensorsOfAnotherShapeAreRefused) {
  for (const char* name : {"ssm_conv1d.weight", "ssm_a", "ssm_dt.bias", "ssm_norm.weight",
                           "ssm_out.weight", "ssm_alpha.weight", "attn_gate.weight"}) {
    TestSource source = delta_source("qwen35", {});
    const std::string tensor = std::string("blk.1.") + name;
    source.add(tensor, {7, 3});
    EXPECT_NE(spec_refusal(source, ErrorCode::kFile).find(tensor + " is 7 x 3"), std::string::npos);
    source.remove(tensor);
    EXPECT_NE(spec_refusal(source, ErrorCode::kFile).find(tensor), std::string::npos);
  }
}

TEST(DeltaSpec, AModelWithoutFullAttentionIsRefused) {
  TestSource source = delta_source("qwen35", {});
  source.set("qwen35.full_attention_interval", 5u);
  EXPECT_NE(
      spec_refusal(source, ErrorCode::kUnsupported).find("layers, none with full attention ("),
      std::string::npos);
}

// The key attention.recurrent_layers may list which layers keep states.
TEST(DeltaSpec, ALayersListSaysWhichKeepStates) {
  TestSource source = delta_source("qwen35", {.interval = 2});
  source.set("qwen35.full_attention_interval", 3u);
  source.set("qwen35.attention.recurrent_layers", std::vector<bool>{true, false, true, false});
  TestModel model(source);
  for (uint32_t layer = 0; layer < 4; ++layer) {
    EXPECT_EQ(model.spec().kept(layer).has_value(), layer % 2 == 1) << layer;
  }
}

// Rates above 0 would let a state grow without end.
TEST(DeltaSpec, RatesAboveZeroAreRefused) {
  for (float rate : {1e-3f, NAN, -INFINITY}) {
    TestSource source = delta_source("qwen35", {});
    const std::vector<std::byte> file = source.gguf([&](const TestTensor& tensor) {
      std::vector<std::byte> bytes(tensor_bytes(tensor));
      if (tensor.name == "blk.2.ssm_a") std::memcpy(bytes.data() + 4, &rate, sizeof rate);
      return bytes;
    });
    const ModelSource model = parse_gguf(file, "test.gguf");
    try {
      make_spec(model);
      ADD_FAILURE() << rate;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("blk.2.ssm_a has the value"), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace hearth
