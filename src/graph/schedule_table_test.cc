#include "graph/schedule_table.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace hearth {
namespace {

constexpr ProductShape kProduct{PackKind::kQ8_0, 4096, 1024, 2};
constexpr ProductShape kOther{PackKind::kQ8_0, 1024, 2048, 2};

GemmSchedule with_slice(uint16_t slice) {
  return {.tile_panels = 1, .tile_rows = 1, .slice = slice, .task_panels = 4, .task_rows = 256};
}

TEST(ScheduleTable, TheSmallestBoundThatHoldsTheRowsDecides) {
  const ScheduleTable table{{{kProduct, 16, with_slice(16)},
                             {kProduct, 1, with_slice(1)},
                             {kOther, 4, with_slice(4)},
                             {kProduct, 64, with_slice(64)}}};
  EXPECT_EQ(table.at(kProduct, 1).slice, 1);
  EXPECT_EQ(table.at(kProduct, 2).slice, 16);
  EXPECT_EQ(table.at(kProduct, 16).slice, 16);
  EXPECT_EQ(table.at(kProduct, 17).slice, 64);
  EXPECT_EQ(table.at(kProduct, 1000).slice, 64) << "the largest is for more rows, too";
  EXPECT_EQ(table.at(kOther, 1000).slice, 4);
  ProductShape unknown = kProduct;
  unknown.threads = 3;
  EXPECT_TRUE(table.at(unknown, 1).is_default());
}

TEST(ScheduleTable, BoundsAreThoseOfAllProducts) {
  const ScheduleTable table{{{kProduct, 16, with_slice(16)},
                             {kProduct, 1, with_slice(1)},
                             {kOther, 4, with_slice(4)},
                             {kOther, 16, with_slice(4)}}};
  EXPECT_EQ(table.row_bounds({kProduct}), (std::vector<uint32_t>{1, kAnyRows}));
  EXPECT_EQ(table.row_bounds({kProduct, kOther}), (std::vector<uint32_t>{1, 4, kAnyRows}));
  EXPECT_EQ(ScheduleTable{}.row_bounds({kProduct}), (std::vector<uint32_t>{kAnyRows}));
}

TEST(ScheduledProduct, HasTheScheduleOfEveryNumberOfRows) {
  const ScheduleTable table{
      {{kProduct, 16, with_slice(16)}, {kOther, 2, with_slice(2)}, {kProduct, 1, with_slice(1)}}};
  const ScheduledProduct product(table, {kProduct});
  EXPECT_EQ(product.use().shape, kProduct);
  for (uint32_t rows : {1u, 2u, 16u, 17u, 5000u}) {
    EXPECT_EQ(product.at(rows), table.at(kProduct, rows)) << rows;
  }
  EXPECT_TRUE(ScheduledProduct({}, {kProduct}).at(3).is_default());
  EXPECT_TRUE(ScheduledProduct().at(3).is_default());
}

TEST(ProductRows, RowsOfExpertsArePowersOfTwoAroundTheMean) {
  ProductShape experts{PackKind::kQ8_0, 768, 2048, 2, 8, 128};
  auto rows = [&](uint32_t step_rows) { return product_rows(experts, step_rows); };
  EXPECT_EQ(rows(1), (std::vector<uint32_t>{1}));
  EXPECT_EQ(rows(4), (std::vector<uint32_t>{1})) << "a quarter of a row, on average";
  EXPECT_EQ(rows(16), (std::vector<uint32_t>{1, 2, 4}));
  EXPECT_EQ(rows(64), (std::vector<uint32_t>{1, 2, 4, 8, 16}));
  EXPECT_EQ(rows(512), (std::vector<uint32_t>{4, 8, 16, 32, 64}));
  EXPECT_EQ(rows(1u << 20), (std::vector<uint32_t>{64}));
  experts.of_experts = 0;
  EXPECT_EQ(rows(16), (std::vector<uint32_t>{16})) << "of heads every one has all rows";
  EXPECT_EQ(product_rows(kProduct, 7), (std::vector<uint32_t>{7}));
}

std::string fault_of(const ScheduleTable& table) {
  try {
    check_schedules(table, kernels_for(Isa::kReference));
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUsage);
    return error.what();
  }
  return "";
}

TEST(ScheduleTable, IsHeldAgainstTheMenu) {
  EXPECT_EQ(fault_of({}), "");
  EXPECT_EQ(fault_of({{{kProduct, 16, with_slice(1)}, {kProduct, 1, with_slice(1)}}}), "");
  EXPECT_EQ(fault_of({{{kProduct, 16, with_slice(2)}}}),
            "the schedule of q8_0 4096 x 1024 with 2 threads and 16 rows is not possible at ISA "
            "level reference: slice is 2, not 1");
  EXPECT_EQ(
      fault_of({{{kProduct, 16, with_slice(1)}, {kProduct, 16, with_slice(1)}}}),
      "the schedule of q8_0 4096 x 1024 with 2 threads and 16 rows is given twice: remove one");
  EXPECT_EQ(fault_of({{}, {.places = 4, .tasks = 16}}), "");
  EXPECT_EQ(fault_of({{}, {.places = 2, .tasks = 17}}),
            "the schedule of attention has 2 prefetch streams and 17 tasks a thread: give 1 or 4 "
            "streams, and 1 to 16 tasks");
}

}  // namespace
}  // namespace hearth
