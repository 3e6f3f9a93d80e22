// The golden set that tests/golden/make_models.py writes: tiny random models, and the results that
// an independent float64 reference computes for them. Results are logits; for encoders hidden
// states. HEARTH_GOLDEN_DIR names the folder.
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
  std::string twin;  // for a directory: the GGUF model with the same weights, or empty
  std::vector<int32_t> tokens;
  std::vector<uint32_t> texts;  // lengths of the texts in `tokens`; a decoder has one
  // The positions at which second texts begin, in a reranker, whose texts are pairs. `words`: its
  // tokens of yes and no, if it has no head of its own.
  std::vector<uint32_t> seconds;
  std::vector<int32_t> words;
  uint32_t vocabulary, width;
  // Exactly one of the three is not empty: an encoder has hidden states, a reranker scores.
  std::vector<float> logits;  // [tokens][vocabulary]
  std::vector<float> hidden;  // [tokens][width]
  std::vector<float> scores;  // [texts]
  double logit_std = 0, hidden_std = 0, score_std = 0;
  // The movement of the logits (hidden states), as a part of their standard deviation, when the
  // reference rounds as an engine may round.
  struct Noise {
    double rms, max;
  };
  Noise f32, activation_bf16, activation_q8_0;
  Noise kv_f16, kv_bf16, kv_q8_0;  // only keys and values are rounded
  bool quantised;                  // some matrix has an integer type
  bool bf16;                       // some matrix is BF16, or FP8, whose activations are BF16 too

  bool encoder() const { return !hidden.empty(); }
  double std() const { return encoder() ? hidden_std : scores.empty() ? logit_std : score_std; }
  // Returns the bound on the root mean square distance of logits of a model cut over several nodes
  // from those of one node. Shards sum their partial products in another order, so the last bits
  // may differ, as between float32 and float64 evaluations of the reference (f32 noise, 1e-7 rms).
  // Integer activations are quantised from such sums, so a code may flip. Each flip is as large as
  // the q8_0 noise of one element.
  double shard_bound() const;
  // Returns how far the logits of a float model move, root mean square, where keys and values have
  // this type and not f32. The reference rounds them to the same codes in the same blocks. The
  // engine's are the same numbers up to f32's noise (2^-22 of a value, which is 2^-11 of f16's
  // rounding step and less of the others'). So one value in 2^11 at most falls on the other side of
  // a boundary and is one step off: 12 times the mean square of a rounding error. Queries and
  // probabilities, which meet q8_0 as int16, are rounded in steps of 2^-8 of those of codes. All
  // add as squares: (1 + 12 / 2^11 + 2 / 2^16)^(1/2) is 1.003. Tests allow 1 +- kKvSlack, since a
  // step in a large value counts for more than one in a mean one.
  static constexpr double kKvSlack = 0.05;
  double kv_move(KvType type) const;
  // Returns how far the rows may be from the reference's. With F32 weights, logits are within 1e-4
  // of the largest logit, and hidden states, which are normed, within 1e-5. Otherwise the reference
  // tells how far they move when it rounds what the engine rounds (activations to bf16 or to q8_0).
  // The two roundings are independent draws of that size, so their difference is sqrt(2) of it, and
  // the bound is twice that. F16 weights take f32 activations.
  Noise reference_bound() const;
};

struct Difference {
  double rms = 0, max = 0;
};
// Returns NaN where the sizes differ or a value is NaN.
Difference difference(const std::vector<float>& a, const std::vector<float>& b);

// Returns the engine's results for the model's tokens: rows of logits, for an encoder hidden
// states. A step has `at_once` tokens, or texts.
std::vector<float> golden_rows(Engine& engine, const GoldenModel& model, size_t at_once);

// Returns the name of a test of this model.
std::string golden_test_name(const testing::TestParamInfo<GoldenModel>& golden);

// Returns a level whose products with BF16 weights have no instructions of their own.
Isa plain_level();

// Prints the parameter of a failing test.
inline void PrintTo(const GoldenModel& model, std::ostream* out) { *out << model.name; }

// Returns the folder of the golden set, with a slash at the end.
std::string golden_folder();

// Returns a list of the golden set, without models that the engine does not know. "models" give
// logits, "encoders" hidden states. "test_models" have architectures that only tests know,
// "rerankers" score pairs. "moe_models" have mixtures of experts, "mla_models" also latent
// attention, "hybrid_models" layers that keep states. "hf_models" are directories in the form of
// Hugging Face's hub, "hf_code_models" those with codes of quantisers.
std::vector<GoldenModel> read_golden_set(const char* list = "models");

}  // namespace hearth
