// Made-up GEMM problems for the tests and for measuring: shards of random codes (any byte is a
// valid code, except the NaN of FP8) with chosen scales, and rows of random activations in the
// kind's format. They are neither packed nor quantised by the project's code, so only the GEMM is
// tested.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "kernels/gemm/gemm.h"

namespace hearth {

// A buffer of uninitialised 64-byte aligned bytes (2 MiB aligned and advised to be huge pages from
// 2 MiB on), padded so that nothing else lies within a page of their end.
class PaddedBytes {
 public:
  explicit PaddedBytes(size_t bytes);
  std::byte* data() const { return data_.get(); }
  size_t size() const { return size_; }

 private:
  struct Free {
    void operator()(std::byte* p) const;
  };
  size_t size_;
  std::unique_ptr<std::byte, Free> data_;
};

enum class Fill {
  kRandom,   // codes uniform, scales around 1/32
  kExtreme,  // codes at their ends, scales from denormal to huge and zero, both signs
  kZero,     // all codes and scales zero bytes
};

struct Problem {
  PackKind kind;
  PackSpec spec;
  PaddedBytes codes;
  PaddedBytes scales;
  uint32_t m;
  PaddedBytes act_bytes;
  ActView a;

  WeightView weights() const { return weight_view(spec, codes.data(), scales.data()); }
};

// Returns the forms in which types use a kind (tensor/dtype.h), and groups of several blocks if the
// kind has groups; at least one.
std::vector<PackForm> forms_of(PackKind kind);

// Makes a shard, in the first of the kind's forms, of panels * 16 rows and blocks * 32 columns that
// starts `super_offset` blocks into a super-block, and m rows of activations.
Problem make_problem(PackKind kind, uint32_t panels, uint32_t blocks, uint32_t super_offset,
                     uint32_t m, Fill fill, uint32_t seed);
// Makes a problem of a kind in a given form.
Problem make_problem(PackKind kind, const PackForm& form, uint32_t panels, uint32_t blocks,
                     uint32_t super_offset, uint32_t m, Fill fill, uint32_t seed);

}  // namespace hearth
