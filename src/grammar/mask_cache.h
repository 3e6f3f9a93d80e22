// MaskCache: the token masks of the positions for which a mask was asked last.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "grammar/position_store.h"

namespace hearth {

class MaskCache {
 public:
  static constexpr size_t kMaxMasks = 64;
  using Bits = std::vector<uint64_t>;

  // Returns the mask of a position, or nullptr.
  const Bits* find(PositionId at) const {
    for (const Entry& entry : entries_) {
      if (entry.at == at) return entry.bits.get();
    }
    return nullptr;
  }
  void add(PositionId at, Bits bits) {
    Entry entry{at, std::make_shared<const Bits>(std::move(bits))};
    if (entries_.size() < kMaxMasks) {
      entries_.push_back(std::move(entry));
    } else {
      entries_[next_++ % kMaxMasks] = std::move(entry);
    }
  }
  void clear() { entries_.clear(); }
  size_t memory() const {
    return entries_.empty() ? 0 : entries_.size() * entries_[0].bits->size() * sizeof(uint64_t);
  }

 private:
  struct Entry {
    PositionId at;
    std::shared_ptr<const Bits> bits;  // shared by copies of a matcher
  };
  std::vector<Entry> entries_;
  size_t next_ = 0;
};

}  // namespace hearth
