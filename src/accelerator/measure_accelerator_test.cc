#include "accelerator/measure_accelerator.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <utility>

#include "accelerator/virtual/virtual_accelerator.h"
#include "base/error.h"

namespace hearth {
namespace {

const MeasureOptions kLittle = {.seconds = 0.001, .piece_bytes = 16384, .side = 256};

bool is_spread(const Spread& spread) {
  const auto whole = [](double x) { return x >= 1 && x == std::floor(x); };
  return whole(spread.least) && whole(spread.median) && whole(spread.most) &&
         spread.least <= spread.median && spread.median <= spread.most;
}

// Lists that a careless order makes wrong throw in the virtual accelerator.
TEST(MeasureAccelerator, FindsAllRates) {
  VirtualAccelerator accelerator(VirtualOptions{.queues = 2});
  MeasureOptions options = kLittle;
  std::vector<uint32_t> told;
  uint32_t parts = 0;
  options.report = [&](uint32_t done, uint32_t total) {
    told.push_back(done);
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
  ASSERT_EQ(told.size(), parts + 1);
  for (uint32_t i = 0; i <= parts; ++i) EXPECT_EQ(told[i], i);
  EXPECT_EQ(accelerator.facts().free_bytes, accelerator.facts().memory_bytes);
}

TEST(MeasureAccelerator, TakesSmallerPiecesOfLittleMemory) {
  VirtualAccelerator accelerator(VirtualOptions{.memory_bytes = 2 << 20});
  MeasureOptions options = kLittle;
  options.piece_bytes = 1 << 20;
  EXPECT_EQ(measure_accelerator(accelerator, options).write.bytes, uint64_t{2 << 20} / 8);
}

class PoorAccelerator : public VirtualAccelerator {
 public:
  using VirtualAccelerator::VirtualAccelerator;
  Buffer import(std::span<std::byte>) override { fail(ErrorCode::kUnsupported, "not this memory"); }
  std::string why_not(const KernelCall& call) override {
    return std::get<GemmCall>(call).spec.kind == PackKind::kBF16 ? "no bf16" : "";
  }
};

TEST(MeasureAccelerator, TellsWhatItCouldNotMeasure) {
  PoorAccelerator accelerator(VirtualOptions{});
  const AcceleratorRates rates = measure_accelerator(accelerator, kLittle);
  EXPECT_FALSE(rates.import_to);
  EXPECT_FALSE(rates.import_from);
  EXPECT_EQ(rates.import_refused, "not this memory");
  for (const ProductRate& product : rates.products) {
    EXPECT_EQ(product.refused, product.kind == PackKind::kBF16 ? "no bf16" : "");
  }
}

}  // namespace
}  // namespace hearth
