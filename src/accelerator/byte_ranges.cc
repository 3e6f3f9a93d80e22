#include "accelerator/byte_ranges.h"

#include <algorithm>

namespace hearth {
namespace {

bool is_one_run(const Access& a) { return a.rows == 1 || a.stride == a.bytes; }

// Cuts [cut.begin, cut.end) out of the range `left`, and moves the part before it to `kept`.
void cut_away(const ByteRange& cut, ByteRange& left, std::vector<ByteRange>& kept) {
  if (cut.end <= left.begin || cut.begin >= left.end) return;
  if (cut.begin > left.begin) kept.push_back({left.begin, cut.begin});
  left.begin = std::min(cut.end, left.end);
}

}  // namespace

ByteRanges::ByteRanges(const Access& access) { add(access); }

void ByteRanges::add(const Access& access) {
  if (is_one_run(access)) {
    ranges_.push_back({access.at.offset, end_of(access)});
    return;
  }
  for (uint64_t row = 0; row < access.rows; ++row) {
    const uint64_t begin = access.at.offset + row * access.stride;
    ranges_.push_back({begin, begin + access.bytes});
  }
}

void ByteRanges::sort() {
  std::ranges::sort(ranges_, {}, &ByteRange::begin);
  size_t kept = 0;
  for (const ByteRange& range : ranges_) {
    if (range.begin == range.end) continue;
    if (kept > 0 && range.begin <= ranges_[kept - 1].end) {
      ranges_[kept - 1].end = std::max(ranges_[kept - 1].end, range.end);
    } else {
      ranges_[kept++] = range;
    }
  }
  ranges_.resize(kept);
}

void ByteRanges::take_away(const Access& access) {
  const bool one = is_one_run(access);
  const uint64_t bytes = one ? end_of(access) - access.at.offset : access.bytes;
  const uint64_t rows = one ? 1 : access.rows;
  std::vector<ByteRange> kept;
  for (ByteRange left : ranges_) {
    uint64_t row = 0;
    if (!one && left.begin > access.at.offset)
      row = (left.begin - access.at.offset) / access.stride;
    for (; row < rows && left.begin < left.end; ++row) {
      const uint64_t begin = access.at.offset + row * access.stride;
      if (begin >= left.end) break;
      cut_away({begin, begin + bytes}, left, kept);
    }
    if (left.begin < left.end) kept.push_back(left);
  }
  ranges_ = std::move(kept);
}

void ByteRanges::take_away(const ByteRanges& others) {
  std::vector<ByteRange> kept;
  for (ByteRange left : ranges_) {
    auto other = std::ranges::upper_bound(others.ranges_, left.begin, {}, &ByteRange::end);
    for (; other != others.ranges_.end() && other->begin < left.end; ++other) {
      cut_away(*other, left, kept);
    }
    if (left.begin < left.end) kept.push_back(left);
  }
  ranges_ = std::move(kept);
}

bool ByteRanges::hold(const ByteRange& range) const {
  const auto found = std::ranges::upper_bound(ranges_, range.begin, {}, &ByteRange::end);
  return found != ranges_.end() && found->begin <= range.begin && range.end <= found->end;
}

uint64_t ByteRanges::bytes() const {
  uint64_t bytes = 0;
  for (const ByteRange& range : ranges_) bytes += range.end - range.begin;
  return bytes;
}

bool contains(const Access& a, const Access& b) {
  if (a.at.buffer != b.at.buffer || b.at.offset < a.at.offset || end_of(b) > end_of(a))
    return false;
  if (is_one_run(a)) return true;
  if (b.rows > 1 && b.stride != a.stride) return false;
  const uint64_t apart = b.at.offset - a.at.offset;
  return apart % a.stride + b.bytes <= a.bytes && apart / a.stride + b.rows <= a.rows;
}

}  // namespace hearth
