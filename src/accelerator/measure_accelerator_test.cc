#include "accelerator/measure_accelerator.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <utility>

#include "accelerator/kernel_trial.h"
#include "accelerator/virtual/virtual_accelerator.h"
#include "base/error.h"

namespace hearth {
namespace {

const MeasureOptions kLittle = {
    .seconds = 0.001, .piece_bytes = 16384, .side = 256, .rows = {1, 16, 128}};

bool is_spread(const Spread& spread) {
  const auto whole = [](double x) { return x >= 1 && x == std::floor(x); };
  return whole(spread.least) && whole(spread.median) && whole(spread.most) &&
         spread.least <= spread.median && spread.median <= spread.most;
}

// The virtual accelerator throws if a measured list lacks an order.
TEST(MeasureAccelerator, FindsAllRates) {
  VirtualAccelerator accelerator(VirtualOptions{.queues = 2});
  MeasureOptions options = kLittle;
  std::vector<uint32_t> reported;
  uint32_t parts = 0;
  options.report = [&](uint32_t done, uint32_t total) {
    reported.push_back(done);
    parts = total;
  };
  const AcceleratorRates rates = measure_accelerator(accelerator, options);
  for (const TransferRate& rate :
       {rates.write, rates.read, *rates.import_to, *rates.import_from, rates.memory}) {
    EXPECT_TRUE(is_spread(rate.per_second));
    EXPECT_EQ(rate.bytes, options.piece_bytes);
  }
  EXPECT_EQ(rates.import_refused, "");
  EXPECT_TRUE(is_spread(rates.submission_nanoseconds));
  std::set<std::pair<PackKind, uint32_t>> products;
  for (const ProductRate& product : rates.products) {
    EXPECT_TRUE(is_spread(product.per_second));
    EXPECT_EQ(product.refused, "");
    EXPECT_EQ(product.side, 256u);
    products.insert({product.kind, product.rows});
  }
  EXPECT_EQ(products.size(), 15u);
  ASSERT_TRUE(rates.command_nanoseconds);
  EXPECT_TRUE(is_spread(*rates.command_nanoseconds));
  EXPECT_EQ(rates.kernels.size(), trial_kinds().size());
  for (const KernelRate& kernel : rates.kernels) {
    EXPECT_TRUE(is_spread(kernel.per_second)) << kernel.contract;
    EXPECT_EQ(kernel.refused, "");
  }
  ASSERT_EQ(reported.size(), parts + 1);
  for (uint32_t i = 0; i <= parts; ++i) EXPECT_EQ(reported[i], i);
  EXPECT_EQ(accelerator.facts().free_bytes, accelerator.facts().memory_bytes);
}

TEST(MeasureAccelerator, TakesSmallerPiecesOfLittleMemory) {
  VirtualAccelerator accelerator(VirtualOptions{.memory_bytes = 2 << 20});
  MeasureOptions options = kLittle;
  options.piece_bytes = 1 << 20;
  options.kinds = {PackKind::kQ8_0};
  options.kernels.emplace();
  EXPECT_EQ(measure_accelerator(accelerator, options).write.bytes, uint64_t{2 << 20} / 8);
}

class PoorAccelerator : public VirtualAccelerator {
 public:
  using VirtualAccelerator::VirtualAccelerator;
  Buffer import(std::span<std::byte>) override { fail(ErrorCode::kUnsupported, "not this memory"); }
  std::string why_not(const KernelCall& call) override {
    const auto* product = std::get_if<GemmCall>(&call);
    if (product == nullptr) return contract_name(call) == "silu" ? "no silu" : "";
    return product->spec.kind == PackKind::kBF16 ? "no bf16" : "";
  }
};

TEST(MeasureAccelerator, ReportsWhatItCouldNotMeasure) {
  PoorAccelerator accelerator(VirtualOptions{});
  MeasureOptions options = kLittle;
  options.kernels = {"silu", "rms norm"};
  const AcceleratorRates rates = measure_accelerator(accelerator, options);
  EXPECT_FALSE(rates.import_to);
  EXPECT_FALSE(rates.import_from);
  EXPECT_EQ(rates.import_refused, "not this memory");
  for (const ProductRate& product : rates.products) {
    EXPECT_EQ(product.refused, product.kind == PackKind::kBF16 ? "no bf16" : "");
  }
  for (const KernelRate& kernel : rates.kernels) {
    EXPECT_EQ(kernel.refused, kernel.contract == "silu" ? "no silu" : "");
  }
}

TEST(MeasureAccelerator, MeasuresWhatIsAskedFor) {
  VirtualAccelerator accelerator(VirtualOptions{});
  MeasureOptions options = kLittle;
  options.kinds = {PackKind::kQ4_0};
  options.kernels = {"silu", "attend pages f16", "what nobody knows"};
  const AcceleratorRates rates = measure_accelerator(accelerator, options);
  EXPECT_EQ(rates.products.size(), 3u);
  ASSERT_EQ(rates.kernels.size(), 3u);
  EXPECT_EQ(rates.kernels[0].contract, "silu");
  EXPECT_EQ(rates.kernels[1].length, 64u);
  EXPECT_EQ(rates.kernels[2].length, 128u);
}

}  // namespace
}  // namespace hearth
