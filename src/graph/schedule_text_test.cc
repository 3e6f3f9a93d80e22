#include "kernels/gemm/schedule_text.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "graph/schedule_table.h"
#include "kernels/gemm/test_schedules.h"

namespace hearth {
namespace {

const std::string kLine =
    "schedule q8_0 4096 1024 threads 2 rows 16 tile 1 6 slice 96 unpack 0 prefetch 8192 l2 parts 1 "
    "task 4 256";

TEST(ScheduleText, RoundTrips) {
  const ScheduleEntry entry = parse_schedule(kLine, 1);
  EXPECT_EQ(schedule_text(entry), kLine);
  EXPECT_EQ(entry.product, (ProductShape{PackKind::kQ8_0, 4096, 1024, 2}));
  EXPECT_EQ(entry.max_rows, 16u);
  EXPECT_EQ(entry.schedule, (GemmSchedule{.tile_panels = 1,
                                          .tile_rows = 6,
                                          .prefetch_to = Cache::kL2,
                                          .k_parts = 1,
                                          .slice = 96,
                                          .unpack_rows = 0,
                                          .prefetch = 8192,
                                          .task_panels = 4,
                                          .task_rows = 256}));
}

// Returns kLine with the first `from` replaced by `to`.
std::string with(const std::string& from, const std::string& to) {
  std::string line = kLine;
  return line.replace(line.find(from), from.size(), to);
}

TEST(ScheduleText, SaysMatricesSideBySide) {
  const std::string heads = with("threads", "matrices 16 threads");
  EXPECT_EQ(parse_schedule(heads, 1).product,
            (ProductShape{PackKind::kQ8_0, 4096, 1024, 2, 16, 0}));
  EXPECT_EQ(schedule_text(parse_schedule(heads, 1)), heads);
  const std::string experts = with("threads", "matrices 8 of 128 threads");
  EXPECT_EQ(parse_schedule(experts, 1).product,
            (ProductShape{PackKind::kQ8_0, 4096, 1024, 2, 8, 128}));
  EXPECT_EQ(schedule_text(parse_schedule(experts, 1)), experts);
  EXPECT_EQ(schedule_text(parse_schedule(with("threads", "matrices 1 of 4 threads"), 1)),
            with("threads", "matrices 1 of 4 threads"));
  const std::string any = with("4096 1024 threads 2", "any any matrices 8 threads any");
  EXPECT_THROW(parse_schedule(any, 1, SizesSaid::kOrAny), Error);
}

TEST(ScheduleEntry, AddsEntriesForProductsWithoutAny) {
  const ProductShape one{PackKind::kQ8_0, 4096, 1024, 2}, other{PackKind::kQ8_0, 512, 1024, 2};
  const GemmSchedule shipped{.tile_panels = 1, .tile_rows = 6, .task_panels = 8};
  const GemmSchedule tuned{.tile_panels = 1, .tile_rows = 4, .task_panels = 4};
  const std::vector<ScheduleEntry> others{
      {one, 4, shipped}, {one, 16, shipped}, {other, 4, shipped}, {other, 16, shipped}};
  std::vector<ScheduleEntry> entries;
  add_unnamed(others, &entries);
  EXPECT_EQ(entries, others);
  entries = {{one, 16, tuned}};
  add_unnamed(others, &entries);
  EXPECT_EQ(entries, (std::vector<ScheduleEntry>{{one, 16, tuned}, others[2], others[3]}));
}

TEST(ScheduleText, RandomEntriesComeBack) {
  std::mt19937 random(1);
  for (size_t kind = 0; kind < kPackKinds; ++kind) {
    const GemmMenu& menu = *kernels_for(Isa::kReference).gemm[kind].menu;
    for (uint32_t rows : {1u, 16u, 512u}) {
      const ScheduleEntry entry = {
          {static_cast<PackKind>(kind), 16 * rows, 64, 3}, rows, random_schedule(menu, random)};
      EXPECT_EQ(parse_schedule(schedule_text(entry), 1), entry);
    }
  }
}

std::string fault_of(const std::string& line, uint32_t number = 1) {
  try {
    parse_schedule(line, number);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUsage);
    return error.what();
  }
  return "";
}

TEST(ScheduleText, NamesOneFaultInASentence) {
  EXPECT_EQ(fault_of(with("schedule", "plan")), "schedule line 1 has 'plan' instead of 'schedule'");
  EXPECT_EQ(fault_of(with("q8_0", "q9_9")), "schedule line 1 has the unknown type 'q9_9'");
  EXPECT_EQ(fault_of(with("4096", "-1"), 2),
            "schedule line 2 has '-1' as its outputs: give a number from 16 to 16777216");
  EXPECT_EQ(fault_of(with("1024", "1024x")),
            "schedule line 1 has '1024x' as its K: give a number from 32 to 16777216");
  EXPECT_EQ(fault_of(with("threads 2", "threads 99999999999999999999")),
            "schedule line 1 has '99999999999999999999' as its threads: give a number from 1 to "
            "65536");
  EXPECT_EQ(fault_of(with("tile 1", "tile 256")),
            "schedule line 1 has '256' as its tile: give a number from 0 to 255");
  EXPECT_EQ(fault_of(with("l2", "l3")), "schedule line 1 prefetches to 'l3': give l1 or l2");
  EXPECT_EQ(fault_of(with(" 256", "")), "schedule line 1 ends before 'task'");
  EXPECT_EQ(fault_of(kLine + " and more"), "schedule line 1 has 'and' after its end");
  EXPECT_EQ(fault_of(with("slice", std::string(100, '\x1b'))),
            "schedule line 1 has '" + std::string(32, '?') + "' instead of 'slice'");
}

// Every line is either read or refused, whatever bytes it has.
TEST(ScheduleText, DamagedLinesAreReadOrRefused) {
  std::mt19937 random(2);
  int refused = 0;
  for (int round = 0; round < 2000; ++round) {
    std::string text = kLine;
    for (uint32_t n = random() % 4 + 1; n > 0; --n) {
      text[random() % text.size()] =
          static_cast<char>(random() % 4 == 0 ? random() : '0' + random() % 10);
    }
    try {
      check_schedules({{parse_schedule(text, 1)}}, kernels_for(Isa::kReference));
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace hearth
