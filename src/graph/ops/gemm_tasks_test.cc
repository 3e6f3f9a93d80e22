#include "graph/ops/gemm_tasks.h"

#include <gtest/gtest.h>

#include <utility>

namespace hearth {
namespace {

// A call that run_tasks() makes.
struct Call {
  uint32_t panel0, panels, row;
  bool operator==(const Call&) const = default;
};
template <typename Claim>
std::vector<Call> calls_by(const std::vector<PanelRange>& tasks, uint32_t rows, Claim claim) {
  std::vector<Call> calls;
  run_tasks(tasks, rows, kTaskRows, claim, [&](const PanelRange& panels, uint32_t row, uint32_t m) {
    EXPECT_EQ(m, std::min(kTaskRows, rows - row));
    calls.push_back({panels.panel0, panels.panels, row});
  });
  return calls;
}
// Returns the calls of one thread that takes all tasks. It claims them in the sizes of one of
// `takers` threads.
std::vector<Call> calls_of(const std::vector<PanelRange>& tasks, uint32_t rows, uint32_t takers) {
  ChunkCounter counter;
  return calls_by(tasks, rows,
                  [&](uint32_t count) { return counter.next_several(1, count, takers); });
}

TEST(GemmTasks, JoinsAdjacentTasksOfFewRows) {
  // One of two threads claims 10, 7, 5, ... of 40 tasks at a time; a single thread claims 20, 10,
  // 5, ...
  std::vector<Call> calls = calls_of(panel_ranges(8, 158, 4), kFewRows, 2);
  uint32_t next = 8;
  for (const Call& call : calls) {
    EXPECT_EQ(call.panel0, next);
    EXPECT_EQ(call.row, 0u);
    next += call.panels;
  }
  EXPECT_EQ(next, 166u);
  EXPECT_EQ(calls[0].panels, 40u);
  EXPECT_EQ(calls[1].panels, 28u);
  EXPECT_EQ(calls.back().panels, 2u) << "the last ones are short";
  EXPECT_EQ(calls_of(panel_ranges(0, 160, 4), 1, 1)[0].panels, kJoinedPanels) << "at most so many";
}

TEST(GemmTasks, MatricesAreNotJoined) {
  std::vector<PanelRange> tasks = panel_ranges(0, 8, 4);
  tasks.push_back({16, 4});
  bool first = true;
  std::vector<Call> calls = calls_by(tasks, 3, [&](uint32_t count) {
    return std::exchange(first, false) ? ChunkClaim{0, count} : ChunkClaim{count, count};
  });
  EXPECT_EQ(calls, (std::vector<Call>{{0, 8, 0}, {16, 4, 0}}));
}

TEST(GemmTasks, CallsEachTaskOfManyRowsByItself) {
  std::vector<Call> calls = calls_of(panel_ranges(0, 16, 8), kTaskRows + 5, 1);
  EXPECT_EQ(calls, (std::vector<Call>{{0, 8, 0}, {0, 8, kTaskRows}, {8, 8, 0}, {8, 8, kTaskRows}}));
}

TEST(GemmTasks, SizesFollowRowsAndThreads) {
  PackSpec spec{PackKind::kQ4_0, 16 * 384, 2560, 0};
  EXPECT_EQ(task_panels(spec, 384, 2, kFewRows), kGemmStreams);
  EXPECT_EQ(task_panels(spec, 384, 64, kFewRows), 2u);
  EXPECT_EQ(task_panels(spec, 384, 2, 512), kTaskPanels);
  EXPECT_EQ(task_panels(spec, 384, 64, 512), 2u) << "64 KiB and not less";
}

}  // namespace
}  // namespace hearth
