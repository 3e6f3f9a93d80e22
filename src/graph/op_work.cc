#include "graph/op_work.h"

#include <algorithm>
#include <cmath>

namespace hearth {

OpLoad::Reads& OpLoad::of_shard(uint32_t shard) {
  for (Reads& known : reads) {
    if (known.shard == shard) return known;
  }
  reads.push_back({.shard = shard});
  return reads.back();
}

OpWork OpLoad::total() const {
  OpWork work;
  for (const Reads& of : reads) work.bytes += of.weights + of.kv;
  work.operations = operations;
  return work;
}

double act_element_bytes(ActFormat format) {
  return format == ActFormat::kQ8 ? 1.375 : format == ActFormat::kBF16 ? 2 : 4;
}

double act_element_bytes_of(uint8_t formats) {
  double bytes = 0;
  for (size_t f = 0; f < kActFormats; ++f) {
    if (formats >> f & 1) bytes += act_element_bytes(static_cast<ActFormat>(f));
  }
  return bytes;
}

Visible visible(uint64_t first_position, uint64_t rows, uint64_t window) {
  uint64_t first = first_position + 1, last = first_position + rows;
  uint64_t most = window == 0 ? last : window;
  // The first `whole` rows see all positions up to their own; the other rows see the last `most`.
  uint64_t whole = std::min(last, std::max(most, first - 1)) - (first - 1);
  uint64_t pairs = whole * (2 * first + whole - 1) / 2 + (rows - whole) * most;
  return {last - (first - std::min(first, most)), pairs};
}

// mean = integral over x > 0 of (1 - F(x)^n) - integral over x < 0 of F(x)^n, with F the normal
// distribution function.
double mean_greatest(uint32_t n) {
  if (n <= 1) return 0;
  constexpr double kStep = 1.0 / 256, kEnd = 8;
  double sum = 0;
  for (double x = kStep / 2; x < kEnd; x += kStep) {
    double below = std::erfc(x / std::sqrt(2.0)) / 2;
    sum += 1 - std::pow(1 - below, n) - std::pow(below, n);
  }
  return sum * kStep;
}

}  // namespace hearth
