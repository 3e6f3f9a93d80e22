// The golden set that tests/golden/make_models.py writes: tiny random models and the logits, or of
// encoders the hidden states, an independent float64 reference gets from them. The folder is named
// by HEARTH_GOLDEN_DIR.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/engine.h"
#include "same_bits.h"

namespace hearth {

struct GoldenModel {
  std::string name;
  std::string path;  // of the GGUF file, or of the directory
  std::string twin;  // of a directory: the GGUF model with the same weights, or nothing
  std::vector<int32_t> tokens;
  std::vector<uint32_t> texts;  // the tokens are texts of these lengths; of decoders one
  // The positions at which second texts begin, in a reranker, whose texts are pairs; and its tokens
  // of yes and no where it has no head of its own.
  std::vector<uint32_t> seconds;
  std::vector<int32_t> words;
  uint32_t vocabulary, width;
  // Exactly one of the three is there: an encoder has hidden states, a reranker scores.
  std::vector<float> logits;  // [tokens][vocabulary]
  std::vector<float> hidden;  // [tokens][width]
  std::vector<float> scores;  // [texts]
  double logit_std = 0, hidden_std = 0, score_std = 0;
  // How far the logits (hidden states) move, as parts of their standard deviation, when the
  // reference rounds what an engine may round.
  struct Noise {
    double rms, max;
  };
  Noise f32, activation_bf16, activation_q8_0;
  Noise kv_f16, kv_bf16, kv_q8_0;  // keys and values alone
  bool quantised;                  // some matrix is of an integer type
  bool bf16;                       // or of FP8, whose activations are BF16 too

  bool encoder() const { return !hidden.empty(); }
  double std() const { return encoder() ? hidden_std : scores.empty() ? logit_std : score_std; }
  // How far logits of a model cut over several nodes may be from those of one, root mean square.
  // Shards sum their partial products in another order than one: the last bits may differ, as they
  // do between float32 and float64 evaluations of the reference (f32 noise, 1e-7 rms); integer
  // activations are quantised from such sums, so a code may flip, each flip as large as the q8_0
  // noise of one element.
  double shard_bound() const;
  // How far the logits of a float model move where keys and values are of a type and not f32, root
  // mean square. The reference rounds them to the same codes in the same blocks. The engine's are
  // the same numbers up to f32's noise (2^-22 of a value, which is 2^-11 of f16's rounding step and
  // less of the others'), so one value in 2^11 at most falls on the other side of a boundary, where
  // it is one step off: 12 times the mean square of a rounding error. Queries and probabilities,
  // which meet q8_0 as int16, are rounded in steps of 2^-8 of those of codes. All add as squares:
  // (1 + 12 / 2^11 + 2 / 2^16)^(1/2) is 1.003. Tests allow 1 +- kKvSlack, since a step in a large
  // value counts for more than one in a mean one.
  static constexpr double kKvSlack = 0.05;
  double kv_move(KvType type) const;
  // Returns how far the rows may be from the reference's. F32: within 1e-4 of the largest, hidden
  // states, which have been normed, within 1e-5. Else the reference tells how far they move when it
  // rounds what the engine rounds (activations to bf16 or to q8_0); the two roundings are
  // independent draws of that size, so their difference is sqrt(2) of it, and the bound is twice
  // that. F16 weights take f32 activations.
  Noise reference_bound() const;
};

struct Difference {
  double rms = 0, max = 0;
};
// NaN where the sizes differ or a value is none.
Difference difference(const std::vector<float>& a, const std::vector<float>& b);

// Returns the engine's results for the model's tokens: the rows of logits, or of an encoder the
// hidden states. A step has so many tokens, or texts, at once.
std::vector<float> golden_rows(Engine& engine, const GoldenModel& model, size_t at_once);

// The name of a test of the model.
std::string golden_test_name(const testing::TestParamInfo<GoldenModel>& golden);

// A level whose products with BF16 weights have no instructions of their own.
Isa plain_level();

// Prints the parameter of a failing test.
inline void PrintTo(const GoldenModel& model, std::ostream* out) { *out << model.name; }

// Returns the folder of the golden set, with a slash at the end.
std::string golden_folder();

// Those that the engine knows and that give logits, or of `list` "encoders" those that do not, of
// "test_models" those of architectures that tests alone know, of "rerankers" those that score
// pairs, of "moe_models" those with mixtures of experts, of "mla_models" those with latent
// attention too, of "hybrid_models" those whose layers keep states, of "hf_models" directories as
// Hugging Face's hub has them, of "hf_code_models" those with codes of quantisers.
std::vector<GoldenModel> read_golden_set(const char* list = "models");

}  // namespace hearth
