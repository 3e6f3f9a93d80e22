#include "bench/packed_product.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "kernels/kernels.h"

namespace hearth {
namespace {

class PackedProductTest : public testing::Test {
 protected:
  static Rotation rotation(PackKind kind, uint32_t panels, uint32_t copies) {
    return {{.kind = kind, .rows = panels * kPanelRows, .k = 512, .k_origin = 0}, copies};
  }

  Machine machine_ = Machine::invented(1, 2);
  Team team_{2};
  TimedTeam timed_{team_};
};

// A kernel that multiplies nothing. Its output tells which copy of the weights it was given.
void write_address(const GemmArgs& args) {
  uint64_t address = reinterpret_cast<uintptr_t>(args.w.codes) / 64 % (1 << 20);
  for (uint32_t row = 0; row < args.m; ++row) {
    std::fill_n(args.out + row * args.out_stride, args.panels * kPanelRows,
                static_cast<float>(address));
  }
}

TEST_F(PackedProductTest, TakesTheCopiesInTurn) {
  PackedCopies weights(machine_, 0, rotation(PackKind::kQ8_0, 5, 3));
  constexpr RowsDefault kAny[] = {{kAnyRows, {.tile_panels = 1, .tile_rows = 1}}};
  PackedProduct product(weights, {write_address, nullptr, kAny}, 2, timed_);
  auto copy_read = [&] {
    for (uint32_t c = 0; c < weights.count(); ++c) {
      uint64_t address = reinterpret_cast<uintptr_t>(weights.copy(c).codes) / 64 % (1 << 20);
      if (product.out()[0] == static_cast<float>(address)) return c;
    }
    return weights.count();
  };
  for (uint32_t expected : {0u, 1u, 2u, 0u}) {
    EXPECT_EQ(product.next_copy(), expected);
    EXPECT_GT(product.run(1), 0);
    EXPECT_EQ(copy_read(), expected);
  }
  product.run(4);
  EXPECT_EQ(copy_read(), 1u);
}

TEST_F(PackedProductTest, CopiesAreAlikeAndApart) {
  Rotation three = rotation(PackKind::kQ4_K, 40, 3);
  PackedCopies weights(machine_, 0, three);
  WeightView first = weights.copy(0);
  for (uint32_t c = 1; c < 3; ++c) {
    WeightView copy = weights.copy(c);
    EXPECT_EQ(copy.codes - weights.copy(c - 1).codes, static_cast<ptrdiff_t>(three.copy_bytes()));
    EXPECT_EQ(std::memcmp(copy.codes, first.codes, three.copy_bytes()), 0);
  }
}

// Only some members of a team work, and the caller is not one of them.
TEST_F(PackedProductTest, SomeMembersComputeItAll) {
  Team team(4);
  TimedTeam two(team, {1, 3});
  ASSERT_EQ(two.size(), 2u);
  PackedCopies weights(machine_, 0, rotation(PackKind::kQ8_0, 9, 1));
  const GemmKernel& gemm = kernels_for(Isa::kReference).gemm[static_cast<size_t>(PackKind::kQ8_0)];
  PackedProduct product(weights, gemm, 3, two), all(weights, gemm, 3, timed_);
  for (int i = 0; i < 5; ++i) product.run(2);
  all.run(1);
  EXPECT_EQ(std::memcmp(product.out(), all.out(), sizeof(float) * 3 * all.out_stride()), 0);
}

// Every task is done exactly once: the bits equal those of one call of the kernel.
TEST_F(PackedProductTest, ComputesTheProductAsOneCallDoes) {
  const Kernels& kernels = kernels_for(choose_isa(detect_cpu_features(), nullptr));
  for (PackKind kind : {PackKind::kF32, PackKind::kQ8_0, PackKind::kQ6_K}) {
    const GemmKernel& gemm = kernels.gemm[static_cast<size_t>(kind)];
    PackedCopies weights(machine_, 0, rotation(kind, 11, 2));
    for (uint32_t m : {1u, 260u}) {
      PackedProduct product(weights, gemm, m, timed_);
      product.run(2);
      PaddedBytes scratch(kGemmScratchBytes), out(sizeof(float) * m * weights.spec().rows);
      gemm({weights.copy(0), 0, weights.spec().panels(), 0, weights.spec().blocks(),
            product.activations(), m, reinterpret_cast<float*>(out.data()), weights.spec().rows,
            scratch.data()});
      EXPECT_EQ(std::memcmp(out.data(), product.out(), out.size()), 0)
          << pack_kind_name(kind) << " m " << m;
    }
  }
}

// A schedule changes which member does a task, and no bit. With K in parts the output is the sum of
// the parts.
TEST_F(PackedProductTest, SchedulesGiveTheSameProduct) {
  const Kernels& kernels = kernels_for(choose_isa(detect_cpu_features(), nullptr));
  const auto kind = static_cast<size_t>(PackKind::kQ8_0);
  PackedCopies weights(machine_, 0, rotation(PackKind::kQ8_0, 11, 2));
  GemmSchedule schedule = kernels.gemm[kind].default_for(40);
  schedule.task_panels = 3;
  schedule.task_rows = 16;
  ASSERT_EQ(schedule_fault(schedule, *kernels.gemm[kind].menu), "");
  PackedProduct by_default(weights, kernels.gemm[kind], 40, timed_);
  PackedProduct scheduled(weights, kernels.gemm[kind], 40, timed_, schedule);
  by_default.run(1);
  scheduled.run(1);
  const size_t values = size_t{40} * weights.spec().rows;
  EXPECT_EQ(std::memcmp(by_default.out(), scheduled.out(), sizeof(float) * values), 0);

  schedule.k_parts = 2;
  PackedProduct& dealt = scheduled;
  dealt.set_schedule(schedule);
  dealt.run(1);
  PaddedBytes scratch(kGemmScratchBytes);
  std::vector<float> halves[2] = {std::vector<float>(values), std::vector<float>(values)};
  const uint32_t blocks = weights.spec().blocks();
  for (uint32_t half = 0; half < 2; ++half) {
    kernels.gemm[kind]({weights.copy(0), 0, weights.spec().panels(), blocks * half / 2,
                        blocks * (half + 1) / 2, dealt.activations(), 40, halves[half].data(),
                        weights.spec().rows, scratch.data()});
  }
  for (size_t i = 0; i < values; ++i) ASSERT_EQ(dealt.out()[i], halves[0][i] + halves[1][i]) << i;
}

// A product with several matrices at a time equals the products with each. The next product takes
// the matrices after them.
TEST_F(PackedProductTest, MultipliesMatricesSideBySide) {
  const Kernels& kernels = kernels_for(choose_isa(detect_cpu_features(), nullptr));
  const GemmKernel& gemm = kernels.gemm[static_cast<size_t>(PackKind::kQ8_0)];
  PackedCopies weights(machine_, 0, rotation(PackKind::kQ8_0, 5, 8));
  PackedProduct one(weights, gemm, 3, timed_);
  PackedProduct three(weights, gemm, 3, timed_, {}, {.matrices = 3});
  one.run(1);
  three.run(1);
  EXPECT_EQ(three.next_copy(), 3u);
  three.run(2);
  EXPECT_EQ(three.next_copy(), 1u) << "of eight";
  const size_t values = 3 * one.out_stride();
  for (uint32_t matrix = 0; matrix < 3; ++matrix) {
    EXPECT_EQ(std::memcmp(one.out(), three.out() + matrix * values, sizeof(float) * values), 0);
  }
}

// Segments of K are summed as a tree, in one part or in as many parts as there are segments.
TEST_F(PackedProductTest, SegmentsGiveTheSameBitsHoweverTheyAreDealt) {
  const Kernels& kernels = kernels_for(choose_isa(detect_cpu_features(), nullptr));
  const GemmKernel& gemm = kernels.gemm[static_cast<size_t>(PackKind::kQ8_0)];
  PackedCopies weights(machine_, 0, rotation(PackKind::kQ8_0, 5, 1));
  GemmSchedule schedule = gemm.default_for(3);
  schedule.task_panels = 2;
  schedule.task_rows = 16;
  PackedProduct whole(weights, gemm, 3, timed_, schedule, {.segments = 2});
  PackedProduct uncut(weights, gemm, 3, timed_, schedule);
  schedule.k_parts = 2;
  PackedProduct dealt(weights, gemm, 3, timed_, schedule, {.segments = 2});
  for (PackedProduct* product : {&whole, &uncut, &dealt}) product->run(1);
  const size_t bytes = sizeof(float) * 3 * whole.out_stride();
  EXPECT_EQ(std::memcmp(whole.out(), dealt.out(), bytes), 0);
  EXPECT_NE(std::memcmp(whole.out(), uncut.out(), bytes), 0) << "the sums go another way";
}

}  // namespace
}  // namespace hearth
