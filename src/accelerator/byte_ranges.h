// Sets of bytes of a buffer, for finding bytes that are read and were never written.
#pragma once

#include <cstdint>
#include <vector>

#include "accelerator/place.h"

namespace hearth {

struct ByteRange {
  uint64_t begin = 0, end = 0;
};

// A set of ranges, kept in ascending order and disjoint.
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

// Whether all bytes of b lie in a. Returns false where a row of b lies in several rows of a
// together, but in no single one.
bool contains(const Access& a, const Access& b);

}  // namespace hearth
