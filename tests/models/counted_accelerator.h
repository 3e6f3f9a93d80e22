// The virtual accelerator, counting the memory that is asked of it. It may say that no buffer is
// longer than a byte, and mind none that is: what is asked of it then is as short as it can be.
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
      : VirtualAccelerator(options), told_(VirtualAccelerator::facts()) {
    if (asks_for_short_ones) told_.allocation_bytes = 1;
  }

  const AcceleratorFacts& facts() const override { return told_; }
  Buffer allocate(uint64_t bytes) override {
    lengths_.push_back(bytes);
    bytes_ += bytes;
    return VirtualAccelerator::allocate(bytes);
  }

  uint64_t bytes() const { return bytes_; }
  uint64_t longest() const { return *std::max_element(lengths_.begin(), lengths_.end()); }
  // The lengths of the buffers, in the order of their allocation.
  const std::vector<uint64_t>& lengths() const { return lengths_; }

 private:
  AcceleratorFacts told_;
  std::vector<uint64_t> lengths_;
  uint64_t bytes_ = 0;
};

// The bytes that a pass needs for its values in one buffer, the last that it allocates, and the
// least length that a buffer must be allowed to have.
struct PieceNeeds {
  uint64_t values = 0, least_piece = 0;
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
