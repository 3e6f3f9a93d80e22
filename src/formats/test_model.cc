#include "formats/test_model.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"

namespace hearth {
namespace {

// The features of an architecture's files.
struct Kind {
  std::string_view architecture;
  bool encoder = false;
  bool latents = false;
  bool head_norms = false;  // norms of each head of queries and keys
  bool qkv_biases = false;  // only queries, keys and values have biases
  bool row_norms = false;   // norms of all query heads of a row together, and of all key heads
  // Q, K and V are one matrix, and the FFN's gate stands above its up matrix in one.
  bool fused_rows = false;
  // Each query head has a sink, and all matrices but the head have biases.
  bool sinks = false;
  // Whether the delta rule's alpha and beta are two tensors or one. Most layers keep states; in the
  // others queries have gates.
  enum class Delta : uint8_t { kNone, kApart, kBoth };
  Delta delta = Delta::kNone;
  bool convolutions = false;  // most layers have short convolutions in place of attention
  const char* second_norm = "ffn_norm";  // the norm before the FFN
  bool behind = false;                   // norms after attention and after the FFN, too
  bool beside = false;                   // layers have both experts and a dense FFN
  // Only encoders have these:
  bool positions = false;         // there is a table of positions
  bool fused = false;             // Q, K and V are one matrix
  bool attention_biases = false;  // biases of attention and of the FFN's down matrix
  bool up_bias = false;           // biases of the FFN's up matrix and gate
  UpForm up = UpForm::kOwnGate;
};

constexpr Kind kKinds[] = {
    {.architecture = "llama"},
    {.architecture = "qwen2", .qkv_biases = true},
    {.architecture = "qwen3", .head_norms = true},
    {.architecture = "qwen3moe", .head_norms = true},
    {.architecture = "glm4moe", .qkv_biases = true, .second_norm = "post_attention_norm"},
    {.architecture = "gemma3", .head_norms = true, .behind = true},
    {.architecture = "gemma4", .head_norms = true, .behind = true, .beside = true},
    {.architecture = "minimax-m2", .row_norms = true},
    {.architecture = "gpt-oss", .sinks = true, .second_norm = "post_attention_norm"},
    {.architecture = "mistral3"},
    {.architecture = "phi3", .fused_rows = true},
    {.architecture = "seed_oss", .qkv_biases = true, .second_norm = "post_attention_norm"},
    {.architecture = "qwen35",
     .head_norms = true,
     .delta = Kind::Delta::kApart,
     .second_norm = "post_attention_norm"},
    {.architecture = "qwen35moe",
     .head_norms = true,
     .delta = Kind::Delta::kApart,
     .second_norm = "post_attention_norm"},
    {.architecture = "qwen3next",
     .head_norms = true,
     .delta = Kind::Delta::kBoth,
     .second_norm = "post_attention_norm"},
    {.architecture = "lfm2", .head_norms = true, .convolutions = true},
    {.architecture = "lfm2moe", .head_norms = true, .convolutions = true},
    {.architecture = "deepseek2", .latents = true},
    {.architecture = "bert",
     .encoder = true,
     .positions = true,
     .attention_biases = true,
     .up_bias = true,
     .up = UpForm::kNoGate},
    {.architecture = "nomic-bert", .encoder = true, .fused = true},
    {.architecture = "jina-bert-v2", .encoder = true, .attention_biases = true},
};

const Kind& kind_of(std::string_view architecture) {
  const Kind* kind = std::ranges::find(kKinds, architecture, &Kind::architecture);
  HEARTH_CHECK(kind != std::end(kKinds), "kKinds has the architecture");
  return *kind;
}

class Outline {
 public:
  explicit Outline(const ModelShape& shape) : shape_(shape), kind_(kind_of(shape.architecture)) {}

  TestSource make() {
    source_.set("general.architecture", shape_.architecture);
    set_sizes();
    if (kind_.latents) set_latents();
    if (has_states()) set_delta();
    if (kind_.convolutions) set_convolutions();
    if (shape_.experts.count > 0) set_experts();
    if (kind_.encoder) set_encoder();
    add_tables();
    for (uint32_t layer = 0; layer < shape_.layers; ++layer) add_layer(layer);
    if (!kind_.encoder) {
      norm(kind_.convolutions ? "token_embd_norm" : "output_norm", shape_.width);
    }
    return std::move(source_);
  }

 private:
  template <typename T>
  void key(const char* name, T value) {
    source_.set(std::string(shape_.architecture) + "." + name, value);
  }

  void set_sizes() {
    key("block_count", shape_.layers);
    key("context_length", shape_.context);
    key("embedding_length", shape_.width);
    key("feed_forward_length", shape_.ffn);
    key("attention.head_count", shape_.heads);
    if (kind_.encoder || kind_.latents) return;
    key("attention.head_count_kv", shape_.kv_heads);
    key("attention.key_length", shape_.key_length);
    key("attention.value_length", shape_.value_length);
    key("attention.sliding_window", shape_.window);
    key("rope.dimension_count", shape_.key_length / 2 * 2);
  }

  // Sets the lengths of multi-head latent attention: keys for what the cache holds, and those with
  // _mla for a head.
  void set_latents() {
    const ModelLatents& of = shape_.latents;
    key("leading_dense_block_count",
        shape_.experts.count > 0 ? shape_.experts.dense : shape_.layers);
    key("attention.head_count_kv", 1u);
    if (of.q_lora_rank > 0) key("attention.q_lora_rank", of.q_lora_rank);
    key("attention.kv_lora_rank", of.kv_lora_rank);
    key("attention.key_length", of.kv_lora_rank + of.rope_length);
    key("attention.value_length", of.kv_lora_rank);
    key("attention.key_length_mla", of.nope_length + of.rope_length);
    key("attention.value_length_mla", shape_.value_length);
    key("rope.dimension_count", of.rope_length);
  }

  bool has_states() const { return kind_.delta != Kind::Delta::kNone; }
  uint32_t interval() const { return std::min(shape_.delta.interval, shape_.layers); }

  void set_delta() {
    const ModelDelta& of = shape_.delta;
    key("full_attention_interval", interval());
    if (interval() == 1) return;  // no layer keeps a recurrent state
    key("ssm.conv_kernel", of.taps);
    key("ssm.state_size", of.length);
    key("ssm.group_count", of.keys);
    key("ssm.time_step_rank", of.values);
    key("ssm.inner_size", of.values * of.length);
  }

  bool is_full(uint32_t layer) const { return (layer + 1) % interval() == 0; }

  void set_convolutions() {
    key("shortconv.l_cache", shape_.delta.taps);
    std::vector<uint32_t> heads;
    for (uint32_t i = 0; i < shape_.layers; ++i) {
      heads.push_back(is_full(i) ? shape_.kv_heads : 0);
    }
    key("attention.head_count_kv", heads);
  }

  void set_experts() {
    const ModelExperts& of = shape_.experts;
    key("expert_count", of.count);
    key("expert_used_count", of.chosen);
    key("expert_feed_forward_length", of.ffn);
    if (of.shared > 0) key("expert_shared_count", of.shared);
    if (of.dense > 0) key("leading_dense_block_count", of.dense);
  }

  void set_encoder() {
    key("attention.layer_norm_epsilon", 1e-12f);
    key("attention.causal", false);
    if (shape_.pooling) key("pooling_type", *shape_.pooling);
    if (shape_.token_types > 0) {
      source_.set("tokenizer.ggml.token_type_count", shape_.token_types);
    }
  }

  void add_tables() {
    const uint32_t width = shape_.width;
    source_.add("token_embd.weight", {width, shape_.vocabulary}, shape_.table_type);
    if (shape_.per_layer > 0) {
      const uint64_t all = uint64_t{shape_.per_layer} * shape_.layers;
      key("embedding_length_per_layer_input", shape_.per_layer);
      source_.add("per_layer_token_embd.weight", {all, shape_.vocabulary}, shape_.table_type);
      source_.add("per_layer_model_proj.weight", {width, all}, shape_.type);
      norm("per_layer_proj_norm", shape_.per_layer);
    }
    if (!kind_.encoder) {
      if (!shape_.tied) source_.add("output.weight", {width, shape_.vocabulary}, shape_.table_type);
      return;
    }
    if (kind_.positions) source_.add("position_embd.weight", {width, shape_.context});
    if (shape_.token_types > 0) source_.add("token_types.weight", {width, shape_.token_types});
    norm("token_embd_norm", width);
  }

  void add_layer(uint32_t layer) {
    layer_ = "blk." + std::to_string(layer) + ".";
    form_ = shape_.forms.empty() ? LayerForm{} : shape_.forms[layer];
    if (!kind_.encoder) norm(layer_ + "attn_norm", shape_.width);
    if (kind_.latents) {
      add_latent_attention();
    } else if (has_states() && !is_full(layer)) {
      add_delta();
    } else if (kind_.convolutions && !is_full(layer)) {
      matrix("shortconv.in_proj", {shape_.width, uint64_t{3} * shape_.width});
      source_.add(layer_ + "shortconv.conv.weight", {shape_.delta.taps, shape_.width});
      matrix("shortconv.out_proj", {shape_.width, shape_.width});
    } else {
      add_attention();
    }
    norm(layer_ + (kind_.encoder ? "attn_output_norm" : kind_.second_norm), shape_.width);
    if (form_.wide_norms) {
      add_row_norms();
      norm(layer_ + "attn_norm_2", shape_.width);
    }
    const bool experts = shape_.experts.count > 0 && layer >= shape_.experts.dense;
    if (experts) add_experts();
    if (!experts || kind_.beside) add_ffn();
    if (experts && kind_.beside) add_norms_beside();
    if (kind_.encoder) norm(layer_ + "layer_output_norm", shape_.width);
    if (!kind_.behind) return;
    norm(layer_ + "post_attention_norm", shape_.width);
    norm(layer_ + "post_ffw_norm", shape_.width);
    if (shape_.per_layer == 0) return;
    matrix("inp_gate", {shape_.width, shape_.per_layer});
    matrix("proj", {shape_.per_layer, shape_.width});
    norm(layer_ + "post_norm", shape_.width);
  }

  void add_attention() {
    const uint32_t queries = shape_.heads * shape_.key_length * (has_states() ? 2 : 1);
    const uint32_t keys = shape_.kv_heads * shape_.key_length;
    const uint32_t values = shape_.kv_heads * shape_.value_length;
    const bool bias = kind_.attention_biases || kind_.sinks, of_rows = bias || kind_.qkv_biases;
    if (shape_.fused.value_or(kind_.fused || kind_.fused_rows)) {
      linear("attn_qkv", queries + keys + values, shape_.width, of_rows);
    } else {
      linear("attn_q", queries, shape_.width, of_rows);
      linear("attn_k", keys, shape_.width, of_rows);
      linear("attn_v", values, shape_.width, of_rows);
    }
    linear("attn_output", shape_.width, shape_.heads * shape_.value_length, bias);
    if (kind_.sinks) source_.add(layer_ + "attn_sinks.weight", {shape_.heads});
    if (kind_.row_norms) add_row_norms();
    if (!kind_.head_norms) return;
    norm(layer_ + "attn_q_norm", shape_.key_length);
    norm(layer_ + "attn_k_norm", shape_.key_length);
  }

  void add_delta() {
    const ModelDelta& of = shape_.delta;
    const uint32_t width = shape_.width, values = of.values * of.length;
    const uint32_t channels = 2 * of.keys * of.length + values;
    matrix("attn_qkv", {width, channels});
    matrix("attn_gate", {width, values});
    if (kind_.delta == Kind::Delta::kBoth) {
      matrix("ssm_ba", {width, uint64_t{2} * of.values});
    } else {
      matrix("ssm_alpha", {width, of.values});
      matrix("ssm_beta", {width, of.values});
    }
    source_.add(layer_ + "ssm_conv1d.weight", {of.taps, channels});
    source_.add(layer_ + "ssm_a", {of.values});
    source_.add(layer_ + "ssm_dt.bias", {of.values});
    norm(layer_ + "ssm_norm", of.length);
    matrix("ssm_out", {values, width});
  }

  void add_latent_attention() {
    const ModelLatents& of = shape_.latents;
    const uint32_t queries = shape_.heads * (of.nope_length + of.rope_length);
    if (of.q_lora_rank > 0) {
      matrix("attn_q_a", {shape_.width, of.q_lora_rank});
      norm(layer_ + "attn_q_a_norm", of.q_lora_rank);
      matrix("attn_q_b", {of.q_lora_rank, queries});
    } else {
      matrix("attn_q", {shape_.width, queries});
    }
    matrix("attn_kv_a_mqa", {shape_.width, of.kv_lora_rank + of.rope_length});
    norm(layer_ + "attn_kv_a_norm", of.kv_lora_rank);
    matrix("attn_k_b", {of.nope_length, of.kv_lora_rank, shape_.heads});
    matrix("attn_v_b", {of.kv_lora_rank, shape_.value_length, shape_.heads});
    matrix("attn_output", {uint64_t{shape_.heads} * shape_.value_length, shape_.width});
  }

  void add_row_norms() {
    norm(layer_ + "attn_q_norm", shape_.heads * shape_.key_length);
    norm(layer_ + "attn_k_norm", shape_.kv_heads * shape_.key_length);
  }

  void add_ffn() {
    if (!kind_.encoder) {
      if (!kind_.fused_rows) matrix("ffn_gate", {shape_.width, shape_.ffn});
      matrix("ffn_up", {shape_.width, uint64_t{kind_.fused_rows ? 2u : 1u} * shape_.ffn});
      matrix("ffn_down", {shape_.ffn, shape_.width});
      return;
    }
    const UpForm up = form_.up == UpForm::kUsual ? kind_.up : form_.up;
    const uint32_t rows = up == UpForm::kGateAbove ? 2 * shape_.ffn : shape_.ffn;
    if (up == UpForm::kOwnGate) linear("ffn_gate", shape_.ffn, shape_.width, kind_.up_bias);
    linear("ffn_up", rows, shape_.width, kind_.up_bias);
    linear("ffn_down", shape_.width, shape_.ffn, kind_.attention_biases);
  }

  void add_experts() {
    const ModelExperts& of = shape_.experts;
    const uint32_t width = shape_.width;
    source_.add(layer_ + "ffn_gate_inp.weight", {width, of.count});
    matrix("ffn_gate_exps", {width, of.ffn, of.count});
    matrix("ffn_up_exps", {width, of.ffn, of.count});
    matrix("ffn_down_exps", {of.ffn, width, of.count});
    if (kind_.sinks) {
      source_.add(layer_ + "ffn_gate_inp.bias", {of.count});
      source_.add(layer_ + "ffn_gate_exps.bias", {of.ffn, of.count});
      source_.add(layer_ + "ffn_up_exps.bias", {of.ffn, of.count});
      source_.add(layer_ + "ffn_down_exps.bias", {width, of.count});
    }
    if (of.shared == 0) return;
    matrix("ffn_gate_shexp", {width, uint64_t{of.shared} * of.ffn});
    matrix("ffn_up_shexp", {width, uint64_t{of.shared} * of.ffn});
    matrix("ffn_down_shexp", {uint64_t{of.shared} * of.ffn, width});
    if (has_states()) source_.add(layer_ + "ffn_gate_inp_shexp.weight", {width});
  }

  void add_norms_beside() {
    for (const char* name : {"post_ffw_norm_1", "pre_ffw_norm_2", "post_ffw_norm_2"}) {
      norm(layer_ + name, shape_.width);
    }
    source_.add(layer_ + "ffn_gate_inp.scale", {shape_.width});
    source_.add(layer_ + "ffn_down_exps.scale", {shape_.experts.count});
  }

  void matrix(const char* name, std::vector<uint64_t> dims) {
    source_.add(layer_ + name + ".weight", std::move(dims), shape_.type);
  }

  void linear(const char* name, uint32_t rows, uint32_t k, bool usual_bias) {
    matrix(name, {k, rows});
    const bool bias = shape_.biases == Biases::kUsual ? usual_bias : shape_.biases == Biases::kAll;
    if (bias) source_.add(layer_ + name + ".bias", {rows});
  }

  // Adds a norm, with a bias in encoders.
  void norm(const std::string& name, uint32_t n) {
    source_.add(name + ".weight", {n});
    if (kind_.encoder) source_.add(name + ".bias", {n});
  }

  const ModelShape& shape_;
  const Kind& kind_;
  TestSource source_;
  std::string layer_;  // the beginning of the layer's tensor names
  LayerForm form_;
};

}  // namespace

TestSource made_source(const ModelShape& shape) { return Outline(shape).make(); }

}  // namespace hearth
