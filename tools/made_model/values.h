// Random weights in the types of model files. They are made as fast as memory can be written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/fp_types.h"
#include "tensor/dtype.h"

namespace hearth {

inline bool has(std::string_view name, std::string_view part) {
  return name.find(part) != std::string_view::npos;
}

// The normal distribution of a tensor's values.
struct Normal {
  float mean, deviation;
};
// The properties of a model that the size of its weights depends on.
struct Traits {
  uint32_t layers = 1;
  bool tied = false;              // the embedding table is the head
  bool scaled_embedding = false;  // the embedding is multiplied by the root of the width
  bool plain_scores = false;      // attention scores are not divided: norms alone keep them small
};
// Returns the distribution for a tensor's name, of either layout. Linear layers keep the size of
// their input. Matrices that add to the residual stream shrink with the number of layers. Routers
// choose unevenly; norms are near 1.
Normal normal_of(std::string_view name, uint64_t k, const Traits& of);

// The deviation of the FP8 codes that a scale is made for.
inline constexpr float kFp8Deviation = 30;

// Returns the exponent of MXFP4 blocks whose uniform codes have this deviation.
uint8_t mxfp4_exponent(float deviation);

class Values {
 public:
  explicit Values(uint64_t seed);

  void fill_random(std::span<std::byte> out);

  // Fills `out` with whole blocks of a type: F32, F16, BF16, F8_E4M3, Q8_0, Q4_0, Q5_0, Q4_K,
  // Q6_K or MXFP4. The codes of the last four are uniform.
  void fill(DType type, Normal spread, std::span<std::byte> out);

 private:
  // Returns the next four random numbers of 16 bits.
  uint64_t next();
  void fill_q5_0(float deviation, std::span<std::byte> out);
  void fill_mxfp4(float deviation, std::span<std::byte> out);
  void fill_super_blocks(DType type, float deviation, std::span<std::byte> out);

  uint64_t state_;
  std::vector<float> normal_;  // 65,536 draws of a standard normal distribution
  std::vector<e4m3_t> fp8_;    // the same times kFp8Deviation; made at first use
};

}  // namespace hearth
