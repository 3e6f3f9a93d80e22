// The golden set that tests/golden/make_models.py writes: tiny random models and the logits, or of
// encoders the hidden states, an independent float64 reference gets from them. The folder is named
// by HEARTH_GOLDEN_DIR.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "engine/engine.h"

namespace hearth {

struct GoldenModel {
  std::string name;
  std::string path;  // of the GGUF file
  std::vector<int32_t> tokens;
  std::vector<uint32_t> texts;  // the tokens are texts of these lengths; of decoders one
  uint32_t vocabulary, width;
  // One of the two: of an encoder the hidden states.
  std::vector<float> logits;  // [tokens][vocabulary]
  std::vector<float> hidden;  // [tokens][width]
  double logit_std = 0, hidden_std = 0;
  // How far the logits (hidden states) move, as parts of their standard deviation, when the
  // reference rounds what an engine may round.
  struct Noise {
    double rms, max;
  };
  Noise f32, activation_bf16, activation_q8_0, kv_f16;
  bool quantised;  // some matrix is of an integer type
  bool bf16;

  bool encoder() const { return !hidden.empty(); }
  double std() const { return encoder() ? hidden_std : logit_std; }
  // How far logits of a model cut over several nodes may be from those of one, root mean square.
  // Shards sum their partial products in another order than one: the last bits may differ, as they
  // do between float32 and float64 evaluations of the reference (f32 noise, 1e-7 rms); integer
  // activations are quantised from such sums, so a code may flip, each flip as large as the q8_0
  // noise of one element.
  double shard_bound() const;
  // And how far they may be from the reference's. F32: within 1e-4 of the largest. Else the
  // reference tells how far they move when it rounds what the engine rounds (activations to bf16 or
  // to q8_0); the two roundings are independent draws of that size, so their difference is sqrt(2)
  // of it, and the bound is twice that. F16 weights take f32 activations.
  Noise reference_bound() const;
};

struct Difference {
  double rms = 0, max = 0;
};
// NaN where the sizes differ or a value is none.
Difference difference(const std::vector<float>& a, const std::vector<float>& b);

// What the engine gives for the model's tokens: the rows of logits, or of an encoder the hidden
// states. A step has so many tokens, or texts, at once.
std::vector<float> golden_rows(Engine& engine, const GoldenModel& model, size_t at_once);

bool same_bits(const std::vector<float>& a, const std::vector<float>& b);

// What a failing test prints of its parameter.
inline void PrintTo(const GoldenModel& model, std::ostream* out) { *out << model.name; }

// Those that the engine knows, or of `list` "test_models" those of architectures that tests alone
// know.
std::vector<GoldenModel> read_golden_set(const char* list = "models");

}  // namespace hearth
