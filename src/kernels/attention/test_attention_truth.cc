#include "kernels/attention/test_attention_truth.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/test_levels.h"

namespace hearth {
namespace {

constexpr double kUnit = 0x1p-24;     // half an ulp of 1 in binary32
constexpr double kExpError = 1.2e-7;  // the bound of kernels/simd/exp.h

uint32_t first_of(const Queries& queries, uint32_t row) {
  uint32_t end = queries.last[row] + 1;
  return queries.window == 0 || queries.window > end ? 0 : end - queries.window;
}

// Attention of a row by its definition, in double, and how far binary32 may be from it.
struct Truth {
  std::vector<double> out, bound;
};

// Returns a bound on the error of a value's sum over positions [first, last] by rounding to int16:
// half a step of each page's int16 factors of a block's codes, times the largest code. block: the
// block's first element; p: the probability of each position.
double value_steps(const KvHead& head, uint32_t first, uint32_t last, uint32_t block,
                   const double* p) {
  const uint32_t block_end = std::min(block + kKvBlock, head.value_length());
  double sum = 0;
  for (uint32_t begin = first, end = 0; begin <= last; begin = end) {
    end = std::min(last + 1, (begin / kPagePositions + 1) * kPagePositions);
    double largest = 0;
    for (uint32_t j = begin; j < end; ++j) {
      for (uint32_t i = block; i < block_end; ++i) {
        largest = std::max(largest, p[j - first] * std::fabs(head.value(j, i)));
      }
    }
    sum += largest / 32767 * (end - begin) * 0.501;
  }
  return sum;
}

// The bound has u = 2^-24, n positions, h = key_length: a score is a chain of at most h + 16
// (blocks of kMaxHeadDim) + 2 roundings, so its error is at most E = (h + 18) u max_j sum_d |q k
// scale|; with its slope's part it is rounded once more, by u of the largest such sum. A
// probability has the relative error E, u R of the subtraction from the maximum (R: the range of
// the scores, or 88 beyond which exp is 0), and exp's own; so has each of the at most n / 64 + n /
// 512 + 3 factors that rescale a sum. Sums of n terms of one sign (or of |v|) add n + 64 roundings.
// The result is a quotient of two such sums. Where keys and values are codes, a score has half a
// step of the query's int16 for each key besides, and a sum half a step of the page's for each
// value. A sink is one more score, without an error of its own and without a value, and brings one
// more factor and sum.
Truth truth_of(const KvHead& head, const Queries& queries, uint32_t row) {
  uint32_t first = first_of(queries, row), last = queries.last[row], h = head.key_length();
  const float* q = queries.q.data() + queries.offset[row];
  const bool codes = head.type() == KvType::kQ8_0;
  std::vector<double> s;
  double size = 0, steps = 0, largest = 0, farthest = 0;
  for (uint32_t d = 0; d < h; ++d) largest = std::max(largest, std::fabs(1.0 * q[d]));
  for (uint32_t j = first; j <= last; ++j) {
    double dot = 0, magnitude = 0, keys = 0;
    for (uint32_t d = 0; d < h; ++d) {
      double product = static_cast<double>(q[d]) * queries.scale * head.key(j, d);
      dot += product;
      magnitude += std::fabs(product);
      keys += std::fabs(head.key(j, d));
    }
    if (!queries.slope.empty()) {
      const double part = queries.slope[row] * std::fabs(1.0 * queries.position[row] - j);
      dot -= part;
      farthest = std::max(farthest, part);
    }
    s.push_back(dot);
    size = std::max(size, magnitude);
    if (codes) steps = std::max(steps, keys * largest * queries.scale / 32767 * 0.501);
  }
  const bool sinks = !queries.sink.empty();
  double most = *std::max_element(s.begin(), s.end());
  double least = *std::min_element(s.begin(), s.end());
  if (sinks) most = std::max<double>(most, queries.sink[row]);
  if (sinks) least = std::min<double>(least, queries.sink[row]);
  double range = std::min(88.0, most - least);
  double n = s.size();
  double factors = n / 64 + n / 512 + 3 + sinks;
  double each = (h + 18) * kUnit * size + steps + range * kUnit + kExpError;
  if (!queries.slope.empty()) each += kUnit * (size + steps + farthest);
  double relative = 2 * (each + factors * (range * kUnit + kExpError + kUnit) + (n + 66) * kUnit);
  const std::vector<double> zeros(head.value_length(), 0);
  Truth truth{zeros, zeros};
  double total = sinks ? std::exp(queries.sink[row] - most) : 0;
  for (double& x : s) total += x = std::exp(x - most);
  double block_steps = 0;
  for (uint32_t d = 0; d < head.value_length(); ++d) {
    double sum = 0, magnitude = 0;
    for (uint32_t j = first; j <= last; ++j) {
      sum += s[j - first] * head.value(j, d);
      magnitude += s[j - first] * std::fabs(head.value(j, d));
    }
    truth.out[d] = sum / total;
    truth.bound[d] = std::expm1(relative) * magnitude / total + n * 1e-37;
    if (codes && d % kKvBlock == 0) block_steps = value_steps(head, first, last, d, s.data());
    truth.bound[d] += block_steps / total;
  }
  return truth;
}

}  // namespace

AttendFn attend_of(Isa isa, KvType type) {
  return kernels_for(isa).attend[static_cast<size_t>(type)];
}
std::vector<Isa> attend_levels(KvType type) {
  return levels_with_own([&](Isa isa) { return attend_of(isa, type); });
}
KvHead filled_head(KvType type, HeadLengths lengths, uint32_t positions, uint32_t seed) {
  KvHead head(type, lengths, positions);
  head.fill(kernels_for(Isa::kReference).kv_store[static_cast<size_t>(type)], seed);
  return head;
}
bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

void expect_true(const KvHead& head, const Queries& queries, const std::vector<float>& out) {
  for (uint32_t i = 0; i < queries.rows; ++i) {
    Truth truth = truth_of(head, queries, i);
    for (uint32_t d = 0; d < head.value_length(); ++d) {
      float got = out[queries.out_offset[i] + d];
      ASSERT_LE(std::fabs(got - truth.out[d]), truth.bound[d])
          << "row " << i << " element " << d << ": " << got << " for " << truth.out[d];
    }
    for (size_t at = queries.out_offset[i] + head.value_length();
         at < out.size() && (i + 1 == queries.rows || at < queries.out_offset[i + 1]); ++at) {
      ASSERT_EQ(out[at], Queries::kPoison) << "written past row " << i;
    }
  }
}

void expect_true_everywhere(const KvHead& head, const Queries& queries) {
  std::vector<float> reference = queries.run(attend_of(Isa::kReference, head.type()), head.pages());
  expect_true(head, queries, reference);
  for (Isa isa : attend_levels(head.type())) {
    SCOPED_TRACE(isa_name(isa));
    for (bool prefetch_more : {false, true}) {
      if (isa == Isa::kReference && !prefetch_more) continue;
      Queries some = queries;
      some.four_places = prefetch_more;
      if (prefetch_more) some.after = head.pages()[0];
      std::vector<float> out = some.run(attend_of(isa, head.type()), head.pages());
      EXPECT_TRUE(same_bits(out, reference)) << "not the bits of the reference";
    }
  }
}

void expect_no_company(const KvHead& head, const Queries& queries) {
  std::vector<uint32_t> backwards;
  for (uint32_t i = queries.rows; i-- > 0;) backwards.push_back(i);
  for (Isa isa : attend_levels(head.type())) {
    const AttendFn attend = attend_of(isa, head.type());
    const std::vector<float> together = queries.run(attend, head.pages());
    EXPECT_TRUE(same_bits(queries.run(attend, head.pages(), backwards), together));
    for (uint32_t i = 0; i < queries.rows; i += 5) {
      const std::vector<float> alone = queries.run(attend, head.pages(), {i});
      const size_t at = queries.out_offset[i];
      EXPECT_EQ(0, std::memcmp(&alone[at], &together[at], head.value_length() * sizeof(float)))
          << isa_name(isa) << " " << kv_type_name(head.type()) << " row " << i;
    }
  }
}

void expect_spans_apart(const KvHead& head, const Queries& queries) {
  for (Isa isa : attend_levels(head.type())) {
    const AttendFn attend = attend_of(isa, head.type());
    const MergeFn merge = kernels_for(isa).merge_spans;
    const std::vector<float> whole = queries.run(attend, head.pages());
    for (const std::vector<uint32_t>& cuts : {std::vector<uint32_t>{4}, {1, 2, 3, 4}, {3, 4}}) {
      EXPECT_TRUE(same_bits(queries.run_spans(attend, merge, head.pages(), cuts), whole))
          << isa_name(isa) << " " << kv_type_name(head.type());
    }
  }
}

}  // namespace hearth
