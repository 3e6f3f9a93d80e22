#include "formats/hf_names.h"

#include <fmt/format.h>

#include <array>
#include <charconv>

namespace hearth {
namespace {

struct Translation {
  std::string_view from, to;
};

constexpr std::array<Translation, 2> kOutside = {
    {{"embed_tokens", "token_embd"}, {"norm", "output_norm"}}};

constexpr std::array<Translation, 21> kInLayer = {
    {{"input_layernorm", "attn_norm"},
     {"post_attention_layernorm", "ffn_norm"},
     {"self_attn.q_proj", "attn_q"},
     {"self_attn.k_proj", "attn_k"},
     {"self_attn.v_proj", "attn_v"},
     {"self_attn.o_proj", "attn_output"},
     {"self_attn.q_norm", "attn_q_norm"},
     {"self_attn.k_norm", "attn_k_norm"},
     {"self_attn.q_a_proj", "attn_q_a"},
     {"self_attn.q_a_layernorm", "attn_q_a_norm"},
     {"self_attn.q_b_proj", "attn_q_b"},
     {"self_attn.kv_a_proj_with_mqa", "attn_kv_a_mqa"},
     {"self_attn.kv_a_layernorm", "attn_kv_a_norm"},
     {"mlp.gate_proj", "ffn_gate"},
     {"mlp.up_proj", "ffn_up"},
     {"mlp.down_proj", "ffn_down"},
     {"mlp.gate", "ffn_gate_inp"},
     {"block_sparse_moe.gate", "ffn_gate_inp"},
     {"mlp.shared_experts.gate_proj", "ffn_gate_shexp"},
     {"mlp.shared_experts.up_proj", "ffn_up_shexp"},
     {"mlp.shared_experts.down_proj", "ffn_down_shexp"}}};

constexpr std::array<Translation, 6> kOfExpert = {{{"gate_proj", "ffn_gate_exps"},
                                                   {"up_proj", "ffn_up_exps"},
                                                   {"down_proj", "ffn_down_exps"},
                                                   {"w1", "ffn_gate_exps"},
                                                   {"w3", "ffn_up_exps"},
                                                   {"w2", "ffn_down_exps"}}};

template <size_t N>
std::string_view translated(const std::array<Translation, N>& table, std::string_view name) {
  for (const Translation& entry : table) {
    if (entry.from == name) return entry.to;
  }
  return {};
}

void parse_in_layer(std::string_view rest, std::string_view suffix, bool glm, HfName* out) {
  const uint32_t layer = *out->layer;
  if (rest == "self_attn.kv_b_proj" && suffix == ".weight") {
    out->kind = HfName::Kind::kLatentPair;
    return;
  }
  if (take_prefix(&rest, "mlp.experts.") || take_prefix(&rest, "block_sparse_moe.experts.")) {
    std::optional<uint32_t> expert = take_number(&rest);
    const std::string_view to = translated(kOfExpert, rest);
    if (!expert || to.empty() || suffix != ".weight") return;
    out->kind = HfName::Kind::kExpert;
    out->expert = *expert;
    out->gguf = fmt::format("blk.{}.{}{}", layer, to, suffix);
    return;
  }
  std::string_view to = translated(kInLayer, rest);
  if (to.empty()) return;
  if (glm && to == "ffn_norm") to = "post_attention_norm";
  out->keys = to == "attn_k";
  out->kind = to == "attn_q" || out->keys ? HfName::Kind::kQueryOrKey : HfName::Kind::kPlain;
  out->gguf = fmt::format("blk.{}.{}{}", layer, to, suffix);
}

}  // namespace

std::optional<uint32_t> take_number(std::string_view* name) {
  uint32_t number = 0;
  auto [end, error] = std::from_chars(name->data(), name->data() + name->size(), number);
  const auto digits = static_cast<size_t>(end - name->data());
  if (error != std::errc() || digits == name->size() || *end != '.') return std::nullopt;
  if (digits > 1 && name->front() == '0') return std::nullopt;
  name->remove_prefix(digits + 1);
  return number;
}

bool take_prefix(std::string_view* name, std::string_view prefix) {
  if (!name->starts_with(prefix)) return false;
  name->remove_prefix(prefix.size());
  return true;
}

HfName parse_hf_name(std::string_view name, std::string_view architecture) {
  HfName out;
  const size_t dot = name.rfind('.');
  const std::string_view suffix = dot == std::string_view::npos ? "" : name.substr(dot);
  const std::string_view base = name.substr(0, name.size() - suffix.size());
  // A base model that was saved by itself has no prefix.
  std::string_view rest = base;
  take_prefix(&rest, "model.");
  if (take_prefix(&rest, "layers.")) out.layer = take_number(&rest);
  if (suffix == ".inv_freq" && base.ends_with("rotary_emb")) {
    out.kind = HfName::Kind::kFrequencies;
  } else if (out.layer && rest == "mlp.gate" && suffix == ".e_score_correction_bias") {
    out.kind = HfName::Kind::kPlain;
    out.gguf = fmt::format("blk.{}.exp_probs_b.bias", *out.layer);
  } else if (suffix == ".weight" || suffix == ".bias") {
    if (out.layer) {
      parse_in_layer(rest, suffix, architecture == "glm4moe", &out);
    } else if (std::string_view to = base == "lm_head" ? "output" : translated(kOutside, rest);
               !to.empty()) {
      out.kind = HfName::Kind::kPlain;
      out.gguf = fmt::format("{}{}", to, suffix);
    }
  }
  return out;
}

}  // namespace hearth
