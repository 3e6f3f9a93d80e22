#include "accelerator/place.h"

#include <algorithm>

namespace hearth {
namespace {

bool empty(const Access& a) { return a.bytes == 0 || a.rows == 0 || !a.at; }

// An access whose numbers are signed. Rows without gaps between them are one long row here.
struct Runs {
  explicit Runs(const Access& a)
      : begin(static_cast<int64_t>(a.at.offset)),
        bytes(static_cast<int64_t>(a.bytes)),
        stride(static_cast<int64_t>(a.stride)),
        rows(a.rows) {
    if (rows > 1 && stride == bytes) {
      bytes *= rows;
      rows = 1;
    }
  }

  int64_t begin, bytes, stride, rows;
};

int64_t floor_divide(int64_t a, int64_t b) {
  const int64_t quotient = a / b;
  return a % b != 0 && a < 0 ? quotient - 1 : quotient;
}

// Whether some run has a byte of [begin, begin + bytes).
bool reaches(const Runs& runs, int64_t begin, int64_t bytes) {
  int64_t row = 0;  // the first row that ends after `begin`
  if (runs.rows > 1) {
    row = std::max<int64_t>(0, floor_divide(begin - runs.bytes - runs.begin, runs.stride) + 1);
  }
  if (row >= runs.rows) return false;
  const int64_t at = runs.begin + row * runs.stride;
  return at < begin + bytes && begin < at + runs.bytes;
}

// Whether two accesses with the same stride overlap. Then i - j alone decides whether row i of one
// meets row j of the other.
bool alike_overlap(const Runs& a, const Runs& b) {
  const int64_t apart = b.begin - a.begin;
  const int64_t least = floor_divide(apart - a.bytes, a.stride) + 1;
  const int64_t rows = std::max(least, 1 - b.rows);
  return rows < a.rows && rows * a.stride < apart + b.bytes;
}

}  // namespace

uint64_t end_of(const Access& a) {
  if (a.rows == 0) return a.at.offset;
  const uint64_t gaps = a.rows - 1;
  if (gaps > 0 && a.stride > UINT64_MAX / gaps) return UINT64_MAX;
  const uint64_t last = gaps * a.stride;
  if (a.bytes > UINT64_MAX - last || a.at.offset > UINT64_MAX - last - a.bytes) return UINT64_MAX;
  return a.at.offset + last + a.bytes;
}

bool overlap(const Access& a, const Access& b) {
  if (a.at.buffer != b.at.buffer || empty(a) || empty(b)) return false;
  if (a.at.offset >= end_of(b) || b.at.offset >= end_of(a)) return false;
  const Runs x(a), y(b);
  if (x.rows > 1 && y.rows > 1 && x.stride == y.stride) return alike_overlap(x, y);
  const Runs& fewer = x.rows < y.rows ? x : y;
  const Runs& more = x.rows < y.rows ? y : x;
  for (int64_t row = 0; row < fewer.rows; ++row) {
    if (reaches(more, fewer.begin + row * fewer.stride, fewer.bytes)) return true;
  }
  return false;
}

}  // namespace hearth
