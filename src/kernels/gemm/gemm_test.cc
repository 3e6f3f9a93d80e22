// Every GEMM kernel of every ISA level that this machine can run, against the definition in double
// precision and against the contract's promises of equal bits.
//
// The tolerance. A kernel sums at most n = 2 terms a block (4 with halves, 32 in the plain kinds
// and kFP8), each by one rounding of fma. A term is an exact integer times at most three rounded
// factors, or a minimum times a sum that was rounded once. So with u = 2^-24 and gamma(n) = n u /
// (1 - n u)
//   |result - truth| <= gamma(n + 3) * sum of |terms| <= gamma(n + 3) * truth.magnitude,
// plus 2^-120 for each term that may underflow (vdpbf16ps, bfdot and bfmmla flush subnormals to
// zero). bfdot and bfmmla round to odd, by 2 u at most, but once for two terms: a product of bf16
// is exact, its sum with another is rounded, and that added to the accumulator. A term passes n / 2
// + 1 roundings of 2 u at most, which is gamma(n + 2).
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "kernels/gemm/gemm_problem.h"
#include "kernels/gemm/gemm_reference.h"
#include "kernels/gemm/test_kernels.h"
#include "kernels/kernels.h"

namespace hearth {
namespace {

constexpr uint32_t kPoison = 0x7fc0dead;
constexpr size_t kSpareColumns = 16;

struct Range {
  uint32_t panel0, panels;
  uint32_t block0, block1;
  std::vector<uint32_t> cuts = {};
};

// Returns the range of the whole shard.
Range all_of(const Problem& p) { return {0, p.spec.panels(), 0, p.spec.blocks()}; }

// Outputs are kept as bits, with a spare row and spare columns that must stay poisoned.
class Outputs {
 public:
  Outputs(uint32_t m, uint32_t columns)
      : m_(m), columns_(columns), bits_((m + 1) * stride(), kPoison) {}

  float* data() { return reinterpret_cast<float*>(bits_.data()); }
  size_t stride() const { return columns_ + kSpareColumns; }
  uint32_t bits(uint32_t row, uint32_t column) const { return bits_[row * stride() + column]; }
  float value(uint32_t row, uint32_t column) const {
    return std::bit_cast<float>(bits(row, column));
  }
  void expect_written_exactly() const {
    for (size_t i = 0; i < bits_.size(); ++i) {
      bool inside = i / stride() < m_ && i % stride() < columns_;
      ASSERT_EQ(bits_[i] != kPoison, inside)
          << "row " << i / stride() << " column " << i % stride();
    }
  }

 private:
  uint32_t m_;
  uint32_t columns_;
  std::vector<uint32_t> bits_;
};

Outputs run(const Kernels& kernels, const Problem& p, uint32_t m, const Range& range) {
  Outputs out(m, range.panels * kPanelRows);
  PaddedBytes scratch(kGemmScratchBytes);
  kernels.gemm[static_cast<size_t>(p.kind)]({.w = p.weights(),
                                             .panel0 = range.panel0,
                                             .panels = range.panels,
                                             .block0 = range.block0,
                                             .block1 = range.block1,
                                             .a = p.a,
                                             .m = m,
                                             .out = out.data(),
                                             .out_stride = out.stride(),
                                             .scratch = scratch.data(),
                                             .cuts = range.cuts});
  return out;
}

double tolerance(PackKind kind, uint32_t blocks, const Truth& truth) {
  const uint32_t terms = (act_format_for(kind) == ActFormat::kQ8 ? 4 : kBlock) * blocks;
  return product_error_bound(terms) * truth.magnitude + terms * 0x1p-120;
}

class GemmTest : public testing::TestWithParam<std::tuple<Isa, PackKind>> {
 protected:
  Isa isa() const { return std::get<0>(GetParam()); }
  PackKind kind() const { return std::get<1>(GetParam()); }

  Outputs run(const Problem& p, uint32_t m, const Range& range) const {
    return hearth::run(kernels_for(isa()), p, m, range);
  }

  void expect_true(const Problem& p, uint32_t m, const Range& range) const {
    Outputs out = run(p, m, range);
    out.expect_written_exactly();
    for (uint32_t row = 0; row < m; ++row) {
      for (uint32_t n = 0; n < range.panels * kPanelRows; ++n) {
        Truth truth = gemm_truth({.kind = p.kind,
                                  .w = p.weights(),
                                  .row = range.panel0 * kPanelRows + n,
                                  .block0 = range.block0,
                                  .block1 = range.block1,
                                  .a = act_rows(p.a, row, 0)});
        ASSERT_NEAR(out.value(row, n), truth.value,
                    tolerance(p.kind, range.block1 - range.block0, truth))
            << "row " << row << " column " << n;
      }
    }
  }

  // Expects the contract's chain for each of these numbers of rows, bit by bit. Levels with
  // instructions for bf16 have another chain for kinds with bf16 activations.
  void expect_contract(const Problem& p, const std::vector<uint32_t>& ms,
                       const Range& range) const {
    if (multiplies_bf16(isa()) && act_format_for(kind()) == ActFormat::kBF16) return;
    Outputs contract = hearth::run(kernels_for(Isa::kReference), p, std::ranges::max(ms), range);
    for (uint32_t m : ms) {
      Outputs out = run(p, m, range);
      for (uint32_t row = 0; row < m; ++row) {
        for (uint32_t n = 0; n < range.panels * kPanelRows; ++n) {
          ASSERT_EQ(out.bits(row, n), contract.bits(row, n))
              << "m " << m << " row " << row << " column " << n;
        }
      }
    }
  }
};

class GemmBf16Test : public GemmTest {};

TEST_P(GemmTest, IsTrueAndFollowsTheContract) {
  Problem p = make_problem(kind(), 3, 10, 0, 41, Fill::kRandom, 1);
  expect_true(p, 41, all_of(p));
  expect_contract(p, {41}, all_of(p));
  expect_true(p, 1, all_of(p));
}

// An output must have the same bits however many rows and panels are computed in the same call.
TEST_P(GemmTest, SameBitsForEveryNumberOfRows) {
  for (Fill fill : {Fill::kRandom, Fill::kExtreme}) {
    Problem p = make_problem(kind(), 5, 9, 0, 100, fill, 2);
    Outputs all = run(p, 100, all_of(p));
    all.expect_written_exactly();
    for (uint32_t m = 1; m <= 40; ++m) {
      Outputs some = run(p, m, all_of(p));
      some.expect_written_exactly();
      for (uint32_t row = 0; row < m; ++row) {
        for (uint32_t n = 0; n < p.spec.rows; ++n) {
          ASSERT_EQ(some.bits(row, n), all.bits(row, n)) << "m " << m << " row " << row;
        }
      }
    }
  }
}

// Products around the least normal number may be flushed to zero, but then they must be flushed for
// every number of rows. The scales of other kinds keep their products away from such numbers.
TEST_P(GemmBf16Test, SameBitsWhereSumsAreSubnormal) {
  Problem p = make_problem(kind(), 5, 9, 0, 20, Fill::kRandom, 5);
  std::mt19937 random(5);
  auto small = [&](bf16_t* values, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      values[i] = static_cast<bf16_t>((random() & 0x807f) | (62 + random() % 4) << 7);
    }
  };
  small(reinterpret_cast<bf16_t*>(p.codes.data()), p.spec.codes_bytes() / sizeof(bf16_t));
  small(reinterpret_cast<bf16_t*>(p.act_bytes.data()), p.a.row_stride * p.m);
  ASSERT_EQ(static_cast<const void*>(p.a.bf16), p.act_bytes.data());
  Outputs all = run(p, p.m, all_of(p));
  for (uint32_t m = 1; m <= p.m; ++m) {
    Outputs some = run(p, m, all_of(p));
    for (uint32_t row = 0; row < m; ++row) {
      for (uint32_t n = 0; n < p.spec.rows; ++n) {
        ASSERT_EQ(some.bits(row, n), all.bits(row, n)) << "m " << m << " row " << row;
      }
    }
  }
}

TEST_P(GemmTest, SameBitsByTheSchedulesOfEveryProcessor) {
  Problem p = make_problem(kind(), 9, 11, 3, 25, Fill::kRandom, 19);
  const std::vector<std::unique_ptr<KernelTables>> tables = tables_of_processors();
  for (uint32_t m : {1u, 2u, 3u, 4u, 6u, 9u, 16u, 25u}) {
    Outputs one = hearth::run(tables[0]->at(isa()), p, m, all_of(p));
    for (size_t other_one = 1; other_one < tables.size(); ++other_one) {
      Outputs other = hearth::run(tables[other_one]->at(isa()), p, m, all_of(p));
      other.expect_written_exactly();
      for (uint32_t row = 0; row < m; ++row) {
        for (uint32_t n = 0; n < p.spec.rows; ++n) {
          ASSERT_EQ(one.bits(row, n), other.bits(row, n)) << "m " << m << " row " << row;
        }
      }
    }
  }
}

TEST_P(GemmTest, SameBitsForEveryGroupingOfPanels) {
  Problem p = make_problem(kind(), 5, 7, 2, 26, Fill::kRandom, 3);
  for (uint32_t m : {1u, 3u, 8u, 26u}) {
    Outputs all = run(p, m, all_of(p));
    for (uint32_t panel0 = 0; panel0 < 5; ++panel0) {
      for (uint32_t panels = 1; panel0 + panels <= 5; ++panels) {
        Outputs some = run(p, m, {panel0, panels, 0, 7});
        some.expect_written_exactly();
        for (uint32_t row = 0; row < m; ++row) {
          for (uint32_t n = 0; n < panels * kPanelRows; ++n) {
            ASSERT_EQ(some.bits(row, n), all.bits(row, panel0 * kPanelRows + n));
          }
        }
      }
    }
  }
}

// A column-cut shard computes slices of K, which begin at any block of a super-block.
TEST_P(GemmTest, BlockRanges) {
  for (uint32_t super_offset : {0u, 1u, 5u, 7u}) {
    Problem p = make_problem(kind(), 2, 19, super_offset, 25, Fill::kRandom, 4 + super_offset);
    for (auto [begin, end] : {std::pair{0u, 1u}, {0u, 8u}, {3u, 12u}, {18u, 19u}, {0u, 19u}}) {
      Range range = {0, 2, begin, end};
      expect_true(p, 2, range);
      expect_contract(p, {1, 7, 25}, range);
    }
  }
}

// Adds segments `first` to `last` of a row, each computed alone, as the contract's tree says.
float tree_sum(const std::vector<Outputs>& segments, size_t first, size_t last, uint32_t row,
               uint32_t column) {
  if (last - first == 1) return segments[first].value(row, column);
  size_t left = 1;
  while (2 * left < last - first) left *= 2;
  return tree_sum(segments, first, first + left, row, column) +
         tree_sum(segments, first + left, last, row, column);
}

TEST_P(GemmTest, SegmentsAreAddedByTheTree) {
  Problem p = make_problem(kind(), 9, 15, 3, 25, Fill::kRandom, 16);
  for (const std::vector<uint32_t>& cuts :
       {std::vector<uint32_t>{5}, {3, 8}, {2, 5, 7, 9, 12}, {2, 3, 5, 7, 9, 11, 13}}) {
    std::vector<uint32_t> ends = cuts;
    ends.push_back(14);
    for (uint32_t m : {1u, 2u, 4u, 6u, 16u, 25u}) {
      std::vector<Outputs> segments;
      for (uint32_t begin = 1; uint32_t end : ends) {
        segments.push_back(run(p, m, {0, 9, begin, end}));
        begin = end;
      }
      Outputs sums = run(p, m, {0, 9, 1, 14, cuts});
      sums.expect_written_exactly();
      for (uint32_t row = 0; row < m; ++row) {
        for (uint32_t n = 0; n < p.spec.rows; ++n) {
          ASSERT_EQ(sums.value(row, n), tree_sum(segments, 0, segments.size(), row, n))
              << cuts.size() << " cuts, m " << m << " row " << row << " column " << n;
        }
      }
    }
  }
}

// K is cut, and there are more rows than kBranchRows, the most for which a kernel keeps the sums of
// a right branch (gemm_segments-inl.h).
TEST_P(GemmTest, SegmentsOfManyRows) {
  Problem p = make_problem(kind(), 1, 3, 0, 260, Fill::kRandom, 17);
  Outputs sums = run(p, 260, {0, 1, 0, 3, {2}});
  std::vector<Outputs> segments = {run(p, 260, {0, 1, 0, 2}), run(p, 260, {0, 1, 2, 3})};
  for (uint32_t row = 0; row < 260; ++row) {
    for (uint32_t n = 0; n < p.spec.rows; ++n) {
      ASSERT_EQ(sums.value(row, n), tree_sum(segments, 0, 2, row, n));
    }
  }
}

// The rows of this problem are longer than any kernel's slice of K, so that sums go through memory
// and back.
TEST_P(GemmTest, LongRows) {
  Problem p = make_problem(kind(), 3, 130, 3, 25, Fill::kRandom, 12);
  expect_true(p, 1, {0, 1, 0, 130});
  expect_contract(p, {1, 5, 8, 25}, {0, 3, 1, 130});
  // This problem's rows have three of the longest slices.
  Problem longer = make_problem(kind(), 1, 400, 0, 25, Fill::kRandom, 18);
  expect_contract(longer, {25}, {0, 1, 1, 400});
}

TEST_P(GemmTest, ExtremeCodesAndScales) {
  Problem p = make_problem(kind(), 3, 17, 6, 25, Fill::kExtreme, 13);
  expect_true(p, 9, all_of(p));
  expect_contract(p, {1, 9, 25}, all_of(p));
}

// Tests each form of a kind's scales, with groups that begin at any block.
TEST_P(GemmTest, EveryFormFollowsTheContract) {
  for (const PackForm& form : forms_of(kind())) {
    for (Fill fill : {Fill::kRandom, Fill::kExtreme}) {
      Problem p = make_problem(kind(), form, 3, 21, 3, 25, fill, 22);
      expect_true(p, 2, all_of(p));
      expect_contract(p, {1, 3, 6, 8, 25}, {0, 3, 1, 21});
    }
  }
}

TEST_P(GemmTest, ZerosGiveZeros) {
  Problem p = make_problem(kind(), 2, 3, 0, 25, Fill::kZero, 14);
  for (uint32_t m : {1u, 8u, 25u}) {
    Outputs out = run(p, m, all_of(p));
    for (uint32_t row = 0; row < m; ++row) {
      for (uint32_t n = 0; n < p.spec.rows; ++n) ASSERT_EQ(out.value(row, n), 0.0f);
    }
  }
}

std::string name_of(const testing::TestParamInfo<GemmTest::ParamType>& instance) {
  auto [isa, kind] = instance.param;
  return std::string(isa_name(isa)) + "_" + pack_kind_name(kind);
}

INSTANTIATE_TEST_SUITE_P(Kernels, GemmTest, testing::ValuesIn(own_gemm_kernels()), name_of);
INSTANTIATE_TEST_SUITE_P(Kernels, GemmBf16Test,
                         testing::Combine(testing::ValuesIn(test_levels()),
                                          testing::Values(PackKind::kBF16)),
                         name_of);

}  // namespace
}  // namespace hearth
