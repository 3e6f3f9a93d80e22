// The golden set that tests/golden/make_models.py writes: tiny random models and the logits an
// independent float64 reference gets from them. The folder is named by HEARTH_GOLDEN_DIR.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

namespace hearth {

struct GoldenModel {
  std::string name;
  std::string path;  // of the GGUF file
  std::vector<int32_t> tokens;
  uint32_t vocabulary;
  std::vector<float> logits;  // [tokens][vocabulary]
  double logit_std;
  // How far the logits move, as parts of logit_std, when the reference rounds what an engine may
  // round.
  struct Noise {
    double rms, max;
  };
  Noise f32, activation_bf16, activation_q8_0, kv_f16;
  bool quantised;  // some matrix is of an integer type
  bool bf16;

  // How far logits of a model cut over several nodes may be from those of one, root mean square.
  // Shards sum their partial products in another order than one: the last bits may differ, as they
  // do between float32 and float64 evaluations of the reference (f32 noise, 1e-7 rms); integer
  // activations are quantised from such sums, so a code may flip, each flip as large as the q8_0
  // noise of one element.
  double shard_bound() const;
};

struct Difference {
  double rms = 0, max = 0;
};
// NaN where the sizes differ or a value is none.
Difference difference(const std::vector<float>& a, const std::vector<float>& b);

bool same_bits(const std::vector<float>& a, const std::vector<float>& b);

// What a failing test prints of its parameter.
inline void PrintTo(const GoldenModel& model, std::ostream* out) { *out << model.name; }

std::vector<GoldenModel> read_golden_set();

}  // namespace hearth
