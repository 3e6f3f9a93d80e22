// The virtual accelerator, with counts of the memory allocated from it. With `asks_for_short_ones`
// it reports a longest buffer of one byte, yet accepts longer ones. Callers then ask for the
// shortest buffers that they can use.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "accelerator/virtual/virtual_accelerator.h"

namespace hearth {

class CountedAccelerator : public VirtualAccelerator {
 public:
  explicit CountedAccelerator(const VirtualOptions& options, bool asks_for_short_ones = false)
      : VirtualAccelerator(options), reported_facts_(VirtualAccelerator::facts()) {
    if (asks_for_short_ones) reported_facts_.allocation_bytes = 1;
  }

  const AcceleratorFacts& facts() const override { return reported_facts_; }
  Buffer allocate(uint64_t bytes) override {
    lengths_.push_back(bytes);
    bytes_ += bytes;
    return VirtualAccelerator::allocate(bytes);
  }

  uint64_t bytes() const { return bytes_; }
  uint64_t longest() const { return *std::max_element(lengths_.begin(), lengths_.end()); }
  // Returns the lengths of the buffers, in the order of their allocation.
  const std::vector<uint64_t>& lengths() const { return lengths_; }

 private:
  AcceleratorFacts reported_facts_;
  std::vector<uint64_t> lengths_;
  uint64_t bytes_ = 0;
};

// `values`: the bytes of a pass's values in one buffer, which is the last that it allocates.
// `min_piece`: the least limit on the length of a buffer with which the pass can be made.
struct PieceNeeds {
  uint64_t values = 0, min_piece = 0;
};
template <typename MakePass>
PieceNeeds piece_needs(const MakePass& make) {
  const auto whole = std::make_shared<CountedAccelerator>(VirtualOptions{});
  make(whole);
  const auto cut = std::make_shared<CountedAccelerator>(VirtualOptions{}, true);
  make(cut);
  return {whole->lengths().back(), cut->longest()};
}

}  // namespace hearth
