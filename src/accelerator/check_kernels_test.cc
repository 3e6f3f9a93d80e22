#include "accelerator/check_kernels.h"

#include <gtest/gtest.h>

#include <bit>
#include <span>

#include "accelerator/call_problems.h"
#include "accelerator/find_accelerators.h"
#include "accelerator/virtual/virtual_accelerator.h"

namespace hearth {
namespace {

std::vector<KernelCheck> brief_check(Accelerator& accelerator, const std::string& only) {
  std::vector<KernelCheck> checks;
  check_kernels(accelerator, {.brief = true, .only = only},
                [&](const KernelCheck& check) { checks.push_back(check); });
  return checks;
}

// An accelerator with a fault: one bit of each result that the host reads is flipped.
class FaultyAccelerator : public VirtualAccelerator {
 public:
  using VirtualAccelerator::VirtualAccelerator;
  void read(Place from, std::span<std::byte> bytes) override {
    VirtualAccelerator::read(from, bytes);
    bytes[bytes.size() / 2] ^= std::byte{1};
  }
  std::string why_not(const KernelCall& call) override {
    return std::holds_alternative<RopeCall>(call) ? "it turns nothing" : "";
  }
};

TEST(CheckKernels, FindsOneBitAndSaysWhere) {
  FaultyAccelerator faulty(VirtualOptions{});
  const std::vector<KernelCheck> checks = brief_check(faulty, "norm");
  ASSERT_EQ(checks.size(), 3u);
  for (const KernelCheck& check : checks) {
    EXPECT_FALSE(check.good());
    // A flipped bit in a NaN makes no difference, so some calls still pass.
    EXPECT_GT(check.differ, check.calls / 2);
    EXPECT_LE(check.differ, check.calls);
    EXPECT_NE(check.first.find("normal values: byte "), std::string::npos) << check.first;
  }
}

// Any NaN passes in floats and in scales where the right result is a NaN. Elsewhere every bit
// counts.
TEST(CheckKernels, AcceptsAnyNan) {
  CallProblem problem;
  problem.floats = {{.at = {0, 4}, .bytes = 4, .stride = 8, .rows = 2}};
  problem.halves = {{.at = {0, 16}, .bytes = 4}};
  auto settled = [&](std::vector<uint32_t> words) {
    settle_nans(problem, std::as_writable_bytes(std::span(words)));
    return words;
  };
  EXPECT_EQ(settled({0xffc00001, 0xff800001, 0x7fffffff, 0x7f800000, 0xfe017c00, 0xffffffff}),
            (std::vector<uint32_t>{0xffc00001, 0x7fc00000, 0x7fffffff, 0x7f800000, 0x7e007c00,
                                   0xffffffff}));
  EXPECT_EQ(settled({0, 0xff800000, 0, 0x7f800001, 0xfc000001, 0}),
            (std::vector<uint32_t>{0, 0xff800000, 0, 0x7fc00000, 0xfc000001, 0}));
}

TEST(CheckKernels, ReportsWhyAKernelIsRefused) {
  FaultyAccelerator faulty(VirtualOptions{});
  const std::vector<KernelCheck> checks = brief_check(faulty, "rope");
  ASSERT_EQ(checks.size(), 1u);
  EXPECT_EQ(checks[0].refused, "it turns nothing");
  EXPECT_FALSE(checks[0].good());
}

TEST(CheckKernels, TheReferenceHoldsAllContracts) {
  VirtualAccelerator reference(VirtualOptions{});
  const std::vector<KernelCheck> checks = brief_check(reference, "");
  EXPECT_EQ(checks.size(), 18 + 5 * kKvTypes + 2 * kPackKinds + 5);
  for (const KernelCheck& check : checks) EXPECT_TRUE(check.good()) << check.contract;
}

// Checks every accelerator of this machine, also those that a driver computes in software.
TEST(CheckKernels, ShadersHoldAllContracts) {
  const FoundAccelerators found = find_accelerators();
  if (found.all.empty()) GTEST_SKIP() << found.why_none;
  for (const FoundAccelerator& one : found.all) {
    if (!one.refused.empty()) continue;
    for (const KernelCheck& check : brief_check(*one.open(), "")) {
      EXPECT_TRUE(check.good()) << one.facts.name << ": " << check.contract << ": " << check.first
                                << check.refused;
    }
  }
}

}  // namespace
}  // namespace hearth
