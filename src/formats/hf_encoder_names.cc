// Names of the tensors of encoders: those of transformers' BERT and RoBERTa, with or without the
// prefix of a model that has a head, of Nomic's flash-attention BERT, and of Jina's second BERT
// (and of its model for code, whose FFN has its gate behind the other half).
#include <fmt/format.h>

#include <array>

#include "formats/hf_names.h"

namespace hearth {
namespace {

using Kind = HfName::Kind;

struct Translation {
  std::string_view from, to;
};

constexpr std::array<Translation, 5> kOutside = {
    {{"embeddings.word_embeddings", "token_embd"},
     {"embeddings.position_embeddings", "position_embd"},
     {"embeddings.token_type_embeddings", "token_types"},
     {"embeddings.LayerNorm", "token_embd_norm"},
     {"emb_ln", "token_embd_norm"}}};

constexpr std::array<Translation, 24> kInLayer = {
    {{"attention.self.query", "attn_q"},
     {"attention.self.key", "attn_k"},
     {"attention.self.value", "attn_v"},
     {"attention.self.layer_norm_q", "attn_q_norm"},
     {"attention.self.layer_norm_k", "attn_k_norm"},
     {"attention.output.dense", "attn_output"},
     {"attention.output.LayerNorm", "attn_output_norm"},
     {"intermediate.dense", "ffn_up"},
     {"output.dense", "ffn_down"},
     {"output.LayerNorm", "layer_output_norm"},
     {"layer_norm_1", "attn_norm_2"},
     {"layer_norm_2", "layer_output_norm"},
     {"mlp.gated_layers", "ffn_up"},
     {"mlp.up_gated_layer", "ffn_up"},
     {"mlp.wo", "ffn_down"},
     {"mlp.down_layer", "ffn_down"},
     {"mlp.layernorm", "layer_output_norm"},
     {"attn.Wqkv", "attn_qkv"},
     {"attn.out_proj", "attn_output"},
     {"norm1", "attn_output_norm"},
     {"norm2", "layer_output_norm"},
     {"mlp.fc11", "ffn_up"},
     {"mlp.fc12", "ffn_gate"},
     {"mlp.fc2", "ffn_down"}}};

template <size_t N>
std::string_view translated(const std::array<Translation, N>& table, std::string_view name) {
  for (const Translation& entry : table) {
    if (entry.from == name) return entry.to;
  }
  return {};
}

// What only heads and poolers of pre-training have, and numbers that a program counts itself.
bool is_left_out(std::string_view name) {
  for (std::string_view begin : {"pooler.", "cls.", "lm_head."}) {
    if (name.starts_with(begin)) return true;
  }
  return name == "embeddings.position_ids" || name == "embeddings.token_type_ids";
}

}  // namespace

HfName parse_hf_encoder_name(std::string_view name) {
  HfName out;
  for (std::string_view prefix : {"bert.", "roberta.", "model."}) {
    if (take_prefix(&name, prefix)) break;
  }
  if (is_left_out(name)) {
    out.kind = Kind::kLeftOut;
    return out;
  }
  const size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return out;
  std::string_view suffix = name.substr(dot);
  // As TensorFlow named them.
  if (suffix == ".gamma") suffix = ".weight";
  if (suffix == ".beta") suffix = ".bias";
  if (suffix != ".weight" && suffix != ".bias") return out;
  std::string_view rest = name.substr(0, dot);
  if (take_prefix(&rest, "encoder.layer.") || take_prefix(&rest, "encoder.layers.")) {
    out.layer = take_number(&rest);
    if (!out.layer) return out;
    const std::string_view to = translated(kInLayer, rest);
    if (to.empty()) return out;
    out.kind = rest == "mlp.gated_layers"     ? Kind::kGateAndUp
               : rest == "mlp.up_gated_layer" ? Kind::kUpAndGate
                                              : Kind::kPlain;
    out.gguf = fmt::format("blk.{}.{}{}", *out.layer, to, suffix);
    return out;
  }
  const std::string_view to = translated(kOutside, rest);
  if (to.empty()) return out;
  out.kind = to == "position_embd" ? Kind::kPositions : Kind::kPlain;
  out.gguf = fmt::format("{}{}", to, suffix);
  return out;
}

}  // namespace hearth
