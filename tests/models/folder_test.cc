// Compares folders of safetensors with GGUF files of the same weights: results have the same bits.
// FP8 is packed as the products of its codes and scales, however shards and heads are cut.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <utility>

#include "base/error.h"
#include "base/fp_types.h"
#include "engine/engine.h"
#include "formats/gguf.h"
#include "formats/gguf_writer.h"
#include "formats/test_hf_folder.h"
#include "models/model.h"
#include "models/registry.h"
#include "models/test_source.h"
#include "models/write_quantized.h"
#include "tiny_engine.h"

namespace hearth {
namespace {

struct Shape {
  std::string architecture = "llama", hf = "LlamaForCausalLM";
  uint32_t layers = 2, width = 72, heads = 4, kv_heads = 2, head = 16, ffn = 104, vocabulary = 80;
  uint32_t experts = 0, expert_ffn = 40;
  bool qk_norm = false, tied = false, bias = false, fp8 = false, bad_scale = false;
};

// A model in both forms. GGUF has the products of codes and scales where the folder has FP8.
class Both : private Shape {
 public:
  explicit Both(const Shape& shape) : Shape(shape) {
    set_keys();
    matrix("token_embd.weight", {"model.embed_tokens.weight"}, vocabulary, width);
    for (uint32_t l = 0; l < layers; ++l) write_layer(l);
    vector("output_norm.weight", "model.norm.weight", width, 0);
    if (!tied) matrix("output.weight", {"lm_head.weight"}, vocabulary, width);
  }

  const HfFolderWriter& folder() const { return folder_; }
  ModelSource from_gguf() const { return parse_gguf(gguf_.finish(), "m.gguf"); }

 private:
  void set_keys() {
    gguf_.set("general.architecture", architecture);
    auto both = [&](const std::string& key, const char* config, uint32_t value) {
      gguf_.set(architecture + "." + key, value);
      folder_.set(config, std::to_string(value));
    };
    both("block_count", "num_hidden_layers", layers);
    both("context_length", "max_position_embeddings", 512);
    both("embedding_length", "hidden_size", width);
    both("feed_forward_length", "intermediate_size", ffn);
    both("attention.head_count", "num_attention_heads", heads);
    both("attention.head_count_kv", "num_key_value_heads", kv_heads);
    both("attention.key_length", "head_dim", head);
    if (experts != 0) {
      both("expert_count", "num_experts", experts);
      both("expert_used_count", "num_experts_per_tok", 2);
      both("expert_feed_forward_length", "moe_intermediate_size", expert_ffn);
      folder_.set("norm_topk_prob", "true");
    }
    gguf_.set(architecture + ".attention.value_length", head);
    gguf_.set(architecture + ".attention.layer_norm_rms_epsilon", 1e-5f);
    gguf_.set(architecture + ".rope.freq_base", 1e6f);
    folder_.set("architectures", "[\"" + hf + "\"]");
    folder_.set("rms_norm_eps", "1e-5");
    folder_.set("rope_theta", "1000000.0");
    folder_.set("vocab_size", std::to_string(vocabulary));
    folder_.set("tie_word_embeddings", tied ? "true" : "false");
  }

  void write_layer(uint32_t l) {
    const std::string to = fmt::format("blk.{}.", l), from = fmt::format("model.layers.{}.", l);
    const std::string attention = from + "self_attn.", mlp = from + "mlp.";
    vector(to + "attn_norm.weight", from + "input_layernorm.weight", width, 0);
    const uint32_t halves = architecture == "llama" ? head : 0;
    auto projection = [&](const char* name, const char* hf_name, uint32_t rows, uint32_t split) {
      matrix(to + name + ".weight", {attention + hf_name + ".weight"}, rows, width, split);
      if (bias) vector(to + name + ".bias", attention + hf_name + ".bias", rows, split);
    };
    projection("attn_q", "q_proj", heads * head, halves);
    projection("attn_k", "k_proj", kv_heads * head, halves);
    projection("attn_v", "v_proj", kv_heads * head, 0);
    if (qk_norm) {
      vector(to + "attn_q_norm.weight", attention + "q_norm.weight", head, 0);
      vector(to + "attn_k_norm.weight", attention + "k_norm.weight", head, 0);
    }
    matrix(to + "attn_output.weight", {attention + "o_proj.weight"}, width, heads * head);
    vector(to + "ffn_norm.weight", from + "post_attention_layernorm.weight", width, 0);
    if (experts != 0) return write_experts(to, mlp);
    matrix(to + "ffn_gate.weight", {mlp + "gate_proj.weight"}, ffn, width);
    matrix(to + "ffn_up.weight", {mlp + "up_proj.weight"}, ffn, width);
    matrix(to + "ffn_down.weight", {mlp + "down_proj.weight"}, width, ffn);
  }

  void write_experts(const std::string& to, const std::string& mlp) {
    auto all = [&](const char* name) {
      std::vector<std::string> names;
      for (uint32_t e = 0; e < experts; ++e) {
        names.push_back(fmt::format("{}experts.{}.{}.weight", mlp, e, name));
      }
      return names;
    };
    const bool kept = std::exchange(fp8, false);  // routers are not converted
    matrix(to + "ffn_gate_inp.weight", {mlp + "gate.weight"}, experts, width);
    fp8 = kept;
    matrix(to + "ffn_gate_exps.weight", all("gate_proj"), expert_ffn, width);
    matrix(to + "ffn_up_exps.weight", all("up_proj"), expert_ffn, width);
    matrix(to + "ffn_down_exps.weight", all("down_proj"), width, expert_ffn);
  }

  // Returns the folder's row that equals row r of a head in GGUF. The folder stores a head as two
  // halves.
  static size_t stored(size_t row, uint32_t split) {
    if (split == 0) return row;
    const size_t r = row % split;
    return row - r + r % 2 * (split / 2) + r / 2;
  }

  void vector(const std::string& name, const std::string& hf_name, uint32_t n, uint32_t split) {
    std::vector<float> values(n), in_folder(n);
    for (float& v : values) v = 1 + real() / 4;
    for (size_t i = 0; i < n; ++i) in_folder[stored(i, split)] = values[i];
    gguf_.add_tensor(name, {n}, std::span<const float>(values));
    folder_.add(hf_name, {n}, "F32", std::as_bytes(std::span(in_folder)), random_() % 2);
  }

  // Adds a matrix that has one name in the folder, or one for each expert.
  void matrix(const std::string& name, const std::vector<std::string>& hf_names, uint32_t rows,
              uint32_t k, uint32_t split = 0) {
    const bool codes = fp8 && hf_names[0].starts_with("model.layers");
    std::vector<std::byte> bytes;
    for (const std::string& hf_name : hf_names) {
      const auto one =
          codes ? fp8_matrix(hf_name, rows, k, split) : bf16_matrix(hf_name, rows, k, split);
      bytes.insert(bytes.end(), one.begin(), one.end());
    }
    std::vector<uint64_t> dims = {k, rows};
    if (hf_names.size() > 1) dims.push_back(hf_names.size());
    gguf_.add_tensor(name, dims, codes ? DType::kF32 : DType::kBF16, bytes);
  }

  // Adds a matrix to the folder and returns GGUF's bytes.
  std::vector<std::byte> bf16_matrix(const std::string& hf_name, uint32_t rows, uint32_t k,
                                     uint32_t split) {
    std::vector<bf16_t> values(size_t{rows} * k), in_folder(values.size());
    for (bf16_t& v : values) v = f32_to_bf16(real() / std::sqrt(static_cast<float>(k)));
    for (size_t r = 0; r < rows; ++r) {
      std::copy_n(&values[r * k], k, &in_folder[stored(r, split) * k]);
    }
    folder_.add(hf_name, {rows, k}, "BF16", std::as_bytes(std::span(in_folder)), random_() % 2);
    const auto bytes = std::as_bytes(std::span(values));
    return {bytes.begin(), bytes.end()};
  }

  std::vector<std::byte> fp8_matrix(const std::string& hf_name, uint32_t rows, uint32_t k,
                                    uint32_t split) {
    std::vector<uint8_t> codes(size_t{rows} * k);
    for (uint8_t& code : codes) code = static_cast<uint8_t>(random_() % 127 + random_() % 2 * 128);
    const uint32_t across = (k + 127) / 128;
    std::vector<float> scales((rows + 127) / 128 * across);
    for (float& scale : scales) scale = 1e-4f * (2 + real());
    std::vector<float> values(codes.size());
    for (size_t r = 0; r < rows; ++r) {
      const size_t from = stored(r, split);
      for (size_t c = 0; c < k; ++c) {
        values[r * k + c] =
            scales[from / 128 * across + c / 128] * e4m3_to_f32(codes[from * k + c]);
      }
    }
    if (bad_scale) scales.back() = std::numeric_limits<float>::infinity();
    folder_.add(hf_name, {rows, k}, "F8_E4M3", std::as_bytes(std::span(codes)), random_() % 2);
    folder_.add(hf_name + "_scale_inv", {(rows + 127) / 128, across}, "F32",
                std::as_bytes(std::span(scales)), random_() % 2);
    const auto bytes = std::as_bytes(std::span(values));
    return {bytes.begin(), bytes.end()};
  }

  float real() { return static_cast<float>(random_() >> 8) * 0x1p-23f - 1; }

  GgufWriter gguf_;
  HfFolderWriter folder_{all_hf_families()};
  std::mt19937 random_{7};
};

std::vector<std::vector<float>> logits_of(const ModelSource& source, uint32_t shards) {
  EngineOptions options;
  options.threads = 2;
  options.context = 64;
  options.shards = shards;
  std::unique_ptr<Engine> engine = tiny_engine(source, options);
  Request request;
  std::mt19937 random(3);
  request.prompt = random_tokens(random, 21, 80);
  request.deliver = Deliver::kLogits;
  return get_alone(*engine, request).rows;
}

void expect_same_bits(const Both& both) {
  const ModelSource gguf = both.from_gguf(), folder = both.folder().source();
  EXPECT_STREQ(folder.format_name(), "safetensors");
  for (uint32_t shards : {1u, 2u}) {
    const auto wanted = logits_of(gguf, shards), got = logits_of(folder, shards);
    ASSERT_EQ(wanted.size(), 21u);
    ASSERT_EQ(got.size(), wanted.size());
    for (size_t i = 0; i < wanted.size(); ++i) {
      ASSERT_EQ(0, std::memcmp(wanted[i].data(), got[i].data(), wanted[i].size() * sizeof(float)))
          << i;
    }
  }
}

TEST(Folder, ALlamaInBf16HasTheBitsOfItsGguf) {
  const Both both(Shape{.bias = true});
  expect_same_bits(both);
}

TEST(Folder, AQwen3InBf16HasTheBitsOfItsGguf) {
  const Both both(Shape{.architecture = "qwen3",
                        .hf = "Qwen3ForCausalLM",
                        .head = 24,
                        .qk_norm = true,
                        .tied = true});
  expect_same_bits(both);
}

// The number of experts. An expert's FFN has too few rows to fill a panel.
constexpr uint32_t kExperts = 5;

TEST(Folder, AMixtureInBf16HasTheBitsOfItsGguf) {
  expect_same_bits(Both({.architecture = "qwen3moe",
                         .hf = "Qwen3MoeForCausalLM",
                         .experts = kExperts,
                         .qk_norm = true}));
}

// Expects the same elements in every shard of every matrix.
void expect_same_weights(const Both& both, uint32_t shards) {
  const ModelSource gguf = both.from_gguf(), folder = both.folder().source();
  ModelPlacement placement{{}, std::vector<uint32_t>(shards, 1)};
  for (uint32_t s = 0; s < shards; ++s) placement.shard_nodes.push_back(s);
  const Machine machine = Machine::invented(shards, 1);
  Model wanted(make_spec(gguf), machine, placement), got(make_spec(folder), machine, placement);
  Team team(2);
  wanted.load(gguf, team, {0, shards - 1}, [](size_t) {});
  got.load(folder, team, {0, shards - 1}, [](size_t) {});
  for (uint32_t i = 0; i < wanted.spec().weights.size(); ++i) {
    const WeightSpec& spec = wanted.spec().weights[i];
    if (!spec.is_matrix()) continue;
    ASSERT_EQ(got.spec().weights[i].name, spec.name);
    const Weight& w = wanted.weights().matrix({i});
    const Weight& g = got.weights().matrix({i});
    for (size_t s = 0; s < w.shards.size(); ++s) {
      ASSERT_EQ(w.shards[s].spec.rows, g.shards[s].spec.rows);
      std::vector<float> row(w.shards[s].spec.k), same(row.size());
      for (uint32_t r = 0; r < w.shards[s].spec.rows; ++r) {
        unpack_row(w.shards[s].spec, w.shards[s].codes, w.shards[s].scales, r, row.data());
        unpack_row(g.shards[s].spec, g.shards[s].codes, g.shards[s].scales, r, same.data());
        ASSERT_EQ(row, same) << spec.name << " shard " << s << " row " << r;
      }
    }
  }
}

const PackedType kFp8OfRows = {DType::kF8E4M3, PackKind::kFP8R};

PackedType packed_as(const Both& both, const char* member) {
  const ModelSource source = both.folder().source();
  return weight_named(make_spec(source), 0, member)->packed;
}

TEST(Folder, Fp8KeepsItsValues) {
  const Both both(Shape{
      .layers = 1, .width = 300, .heads = 4, .kv_heads = 2, .head = 64, .ffn = 400, .fp8 = true});
  for (const char* member : {"q", "k", "gate", "down", "o"}) {
    EXPECT_EQ(packed_as(both, member), DType::kF8E4M3) << member;
  }
  for (uint32_t shards : {1u, 2u, 3u}) expect_same_weights(both, shards);
}

// A shard begins inside a panel, and the two halves of a head lie in different blocks of scales.
TEST(Folder, Fp8WhosePanelsHaveSeveralScalesKeepsItsValues) {
  for (uint32_t head : {24u, 256u}) {
    const Both both(Shape{.layers = 1,
                          .width = 300,
                          .heads = 4,
                          .kv_heads = 2,
                          .head = head,
                          .ffn = 72,
                          .fp8 = true});
    EXPECT_EQ(packed_as(both, "q"), kFp8OfRows);
    EXPECT_EQ(packed_as(both, "v"), head == 24 ? kFp8OfRows : DType::kF8E4M3);
    EXPECT_EQ(packed_as(both, "down"), DType::kF8E4M3);
    for (uint32_t shards : {1u, 2u}) expect_same_weights(both, shards);
  }
}

TEST(Folder, Fp8OfExpertsKeepsItsValues) {
  const Both both({.architecture = "qwen3moe",
                   .hf = "Qwen3MoeForCausalLM",
                   .layers = 1,
                   .width = 300,
                   .head = 64,
                   .experts = kExperts,
                   .expert_ffn = 200,
                   .qk_norm = true,
                   .fp8 = true});
  EXPECT_EQ(packed_as(both, "down"), DType::kF8E4M3);
  for (uint32_t shards : {1u, 2u}) expect_same_weights(both, shards);
}

TEST(Folder, Fp8RunsCloseToItsValues) {
  const Both both(Shape{.width = 300, .head = 64, .ffn = 400, .fp8 = true});
  const ModelSource gguf = both.from_gguf(), folder = both.folder().source();
  const auto wanted = logits_of(gguf, 1), got = logits_of(folder, 1);
  double off = 0, all = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    for (size_t t = 0; t < wanted[i].size(); ++t) {
      off += std::pow(wanted[i][t] - got[i][t], 2);
      all += std::pow(wanted[i][t], 2);
    }
  }
  // FP8's products take activations as bf16, off by 2^-9 at most and 2^-9 / sqrt(3) as a root mean
  // square; an error of that size enters at each of 7 products in 2 layers and at the head, and
  // adds up as independent ones do: sqrt(15) 2^-9 / sqrt(3), some 0.0044. Twice of that is allowed.
  EXPECT_LT(std::sqrt(off / all), 0.009);
}

TEST(Folder, DamagedScalesAreRefusedByName) {
  const Both both(
      Shape{.layers = 1, .width = 300, .head = 64, .ffn = 400, .fp8 = true, .bad_scale = true});
  const ModelSource folder = both.folder().source();
  try {
    logits_of(folder, 1);
    FAIL() << "nothing thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kFile);
    EXPECT_NE(std::string(error.what()).find("'folder': a scale of tensor blk.0."),
              std::string::npos)
        << error.what();
  }
}

TEST(Folder, ABadScaleIsNotWrittenToAFile) {
  const Both both(Shape{.layers = 1, .width = 96, .fp8 = true, .bad_scale = true});
  const ModelSource folder = both.folder().source();
  Team team(2);
  try {
    write_quantized(
        folder, make_spec(folder, WeightPolicy{DType::kQ8_0}), GgufWriter(), team,
        [](std::span<const std::byte>) {}, [](uint64_t, uint64_t) {});
    FAIL() << "nothing thrown";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("'folder': a scale of tensor blk.0."),
              std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace hearth
