// Tests how names of tensors in folders map to GGUF's names.
#include "formats/hf_names.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "models/architectures.h"

namespace hearth {
namespace {

std::string gguf_name(std::string_view name, const HfFamily& family = kDeepseek3Folder) {
  return parse_hf_name(name, family).gguf;
}

TEST(HfNames, TensorsByGgufsNames) {
  EXPECT_EQ(gguf_name("model.embed_tokens.weight"), "token_embd.weight");
  EXPECT_EQ(gguf_name("model.norm.weight"), "output_norm.weight");
  EXPECT_EQ(gguf_name("lm_head.weight"), "output.weight");
  EXPECT_EQ(gguf_name("model.layers.0.input_layernorm.weight"), "blk.0.attn_norm.weight");
  EXPECT_EQ(gguf_name("model.layers.17.self_attn.q_proj.bias"), "blk.17.attn_q.bias");
  EXPECT_EQ(gguf_name("model.layers.3.mlp.gate.weight"), "blk.3.ffn_gate_inp.weight");
  EXPECT_EQ(gguf_name("model.layers.3.mlp.gate_proj.weight"), "blk.3.ffn_gate.weight");
  EXPECT_EQ(gguf_name("model.layers.3.mlp.gate.e_score_correction_bias"), "blk.3.exp_probs_b.bias");
  EXPECT_EQ(gguf_name("model.layers.3.mlp.shared_experts.down_proj.weight"),
            "blk.3.ffn_down_shexp.weight");
  EXPECT_EQ(gguf_name("model.layers.3.post_attention_layernorm.weight"), "blk.3.ffn_norm.weight");
  EXPECT_EQ(gguf_name("model.layers.3.post_attention_layernorm.weight", kGlm4MoeFolder),
            "blk.3.post_attention_norm.weight");
  EXPECT_EQ(gguf_name("model.layers.3.self_attn.kv_a_proj_with_mqa.weight"),
            "blk.3.attn_kv_a_mqa.weight");
}

// The text part of a multimodal model has a prefix of its own, which newer files spell differently
// than older ones.
TEST(HfNames, GemmasTextStandsAloneOrBesideAnother) {
  for (std::string_view prefix : {"model.", "language_model.model.", "model.language_model.", ""}) {
    EXPECT_EQ(gguf_name(fmt::format("{}layers.4.pre_feedforward_layernorm.weight", prefix),
                        kGemma3Folder),
              "blk.4.ffn_norm.weight")
        << prefix;
    EXPECT_EQ(gguf_name(fmt::format("{}embed_tokens.weight", prefix), kGemma3Folder),
              "token_embd.weight")
        << prefix;
  }
}

// Every name that begins with "model." is also known without this prefix. The head never has the
// prefix.
TEST(HfNames, BaseModelsHaveNoPrefix) {
  for (std::string_view name :
       {"model.embed_tokens.weight", "model.norm.weight", "model.layers.2.self_attn.k_proj.bias",
        "model.layers.3.mlp.gate.e_score_correction_bias",
        "model.layers.1.mlp.experts.4.up_proj.weight"}) {
    const HfName with = parse_hf_name(name, kGlm4MoeFolder);
    const HfName without = parse_hf_name(name.substr(6), kGlm4MoeFolder);
    ASSERT_NE(with.row, nullptr) << name;
    EXPECT_EQ(without.row, with.row) << name;
    EXPECT_EQ(without.gguf, with.gguf) << name;
    EXPECT_EQ(without.layer, with.layer) << name;
    EXPECT_EQ(without.expert, with.expert) << name;
    EXPECT_EQ(without.expert_at, with.expert_at == 0 ? 0 : with.expert_at - 6) << name;
  }
  EXPECT_EQ(gguf_name("model.lm_head.weight"), "");
  EXPECT_EQ(gguf_name("model.model.norm.weight"), "");
}

TEST(HfNames, Experts) {
  HfName name = parse_hf_name("model.layers.2.mlp.experts.31.up_proj.weight", kQwen3MoeFolder);
  EXPECT_EQ(name.kind(), HfKind::kExpert);
  EXPECT_EQ(name.gguf, "blk.2.ffn_up_exps.weight");
  EXPECT_EQ(name.expert, 31u);
  EXPECT_EQ(name.expert_at, 27u);
  EXPECT_EQ(name.layer, 2u);
  EXPECT_EQ(gguf_name("model.layers.2.block_sparse_moe.experts.0.w1.weight", kMixtralFolder),
            "blk.2.ffn_gate_exps.weight");
  EXPECT_EQ(gguf_name("model.layers.2.block_sparse_moe.experts.0.w2.weight", kMixtralFolder),
            "blk.2.ffn_down_exps.weight");
  EXPECT_EQ(gguf_name("model.layers.2.block_sparse_moe.experts.0.w3.weight", kMixtralFolder),
            "blk.2.ffn_up_exps.weight");
}

TEST(HfNames, RefusesUnknownNames) {
  for (const char* name :
       {"", ".", "weight", "model.layers.", "model.layers.1", "model.layers.x.mlp.gate.weight",
        "model.layers.01.mlp.gate.weight", "model.layers.-1.mlp.gate.weight",
        "model.layers.4294967296.mlp.gate.weight", "model.layers.1.mlp.experts.x.up_proj.weight",
        "model.layers.1.mlp.experts.1.weight", "model.layers.1.mlp.experts.1.up_proj.bias",
        "layers.1", "model.layers.1.mlp.gate", "lm_head.weights", "visual.patch_embed.weight"}) {
    EXPECT_EQ(parse_hf_name(name, kGlm4MoeFolder).row, nullptr) << name;
  }
  auto kind = [](std::string_view name, const HfFamily& family) {
    const HfName parsed = parse_hf_name(name, family);
    EXPECT_NE(parsed.row, nullptr) << name;
    return parsed.kind();
  };
  EXPECT_EQ(kind("model.layers.1.self_attn.rotary_emb.inv_freq", kLlamaFolder), HfKind::kIgnored);
  EXPECT_EQ(kind("model.layers.1.self_attn.kv_b_proj.weight", kDeepseek2Folder),
            HfKind::kLatentPair);
  EXPECT_EQ(kind("model.layers.1.self_attn.q_proj.weight", kLlamaFolder), HfKind::kQueries);
  EXPECT_EQ(kind("model.layers.1.self_attn.k_proj.weight", kLlamaFolder), HfKind::kKeys);
}

}  // namespace
}  // namespace hearth
