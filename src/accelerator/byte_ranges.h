// Sets of bytes of a buffer, for finding out which of those that are read nobody wrote.
#pragma once

#include <cstdint>
#include <vector>

#include "accelerator/place.h"

namespace hearth {

struct ByteRange {
  uint64_t begin = 0, end = 0;
};

// Ascending and apart.
class ByteRanges {
 public:
  ByteRanges() = default;
  // Makes the ranges of an access.
  explicit ByteRanges(const Access& access);

  // Ranges may be added in any order; then sort() is called once.
  void add(const Access& access);
  void sort();

  void take_away(const Access& access);
  void take_away(const ByteRanges& others);

  bool hold(const ByteRange& range) const;
  bool empty() const { return ranges_.empty(); }
  uint64_t begin() const { return ranges_.front().begin; }
  uint64_t bytes() const;

 private:
  std::vector<ByteRange> ranges_;
};

// Whether all that b reads or writes lies in a. It may say no where only several rows of a together
// hold one of b.
bool contains(const Access& a, const Access& b);

}  // namespace hearth
