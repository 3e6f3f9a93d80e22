#include "graph/ops/expert_tasks.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <tuple>

namespace hearth {
namespace {

constexpr uint32_t kExperts = 24;

// Returns units of every third expert and of the shared one.
ExpertUnits some_units() {
  ExpertUnits units;
  units.unit_of.assign(kExperts, -1);
  for (uint32_t e = 0; e < kExperts; e += 3) {
    units.unit_of[e] = static_cast<int32_t>(units.ids.size());
    units.ids.push_back(e);
  }
  units.shared = true;
  return units;
}

// Returns the experts that each row chooses; with `skew` all rows choose the same ones.
std::vector<uint32_t> routed(uint32_t rows, const RouterRule& rule, bool skew) {
  std::vector<uint32_t> memory(choice_words(rows, rule));
  ExpertChoices choices = choices_over(memory.data(), rows, rule);
  std::mt19937 random(rows);
  for (uint32_t r = 0; r < rows; ++r) {
    std::set<uint32_t> own;
    while (own.size() < rule.used) {
      own.insert(skew ? 3 * static_cast<uint32_t>(own.size()) : random() % kExperts);
    }
    std::copy(own.begin(), own.end(), choices.chosen + size_t{r} * rule.used);
  }
  group_by_expert(choices);
  return memory;
}

TEST(ExpertTasks, CoverEveryPanelOfEveryRowOnce) {
  const ExpertUnits units = some_units();
  const RouterRule rule{.experts = kExperts, .used = 4};
  const ExpertTasks::Shape shape{.panels = 13,
                                 .shared_panels = 26,
                                 .block_rows = 16,
                                 .threads = 3,
                                 .out_panels = 21,
                                 .out_step = 2,
                                 .out_rows = 64};
  for (bool skew : {false, true}) {
    for (uint32_t rows : {1u, 2u, 16u, 17u, 100u}) {
      std::vector<uint32_t> memory = routed(rows, rule, skew);
      const ExpertChoices choices = choices_over(memory.data(), rows, rule);
      std::vector<uint32_t> words(task_words(units.count()));
      const ExpertTasks tasks = cut_expert_tasks(units, shape, choices, words.data());
      std::multiset<std::tuple<uint32_t, uint32_t, uint32_t>> done;  // unit, row, panel
      std::vector<uint32_t> arrived(kExpertFlags, 0);
      for (uint32_t t = 0; t < tasks.up_tasks(); ++t) {
        const UpTask task = up_task(tasks, shape, units, choices, t);
        EXPECT_EQ(tasks.place[task.unit], task.at);
        EXPECT_EQ(task.panels.panel0 % 2, 0u) << "whole blocks of 32 columns";
        ++arrived[tasks.flag_of(task.at)];
        for (uint32_t r = 0; r < task.rows; ++r) {
          for (uint32_t p = 0; p < task.panels.panels; ++p) {
            done.insert({task.unit, task.row + r, task.panels.panel0 + p});
          }
        }
      }
      size_t expected = size_t{rows} * shape.shared_panels;
      for (uint32_t id : units.ids) expected += size_t{choices.count(id)} * shape.panels;
      EXPECT_EQ(done.size(), expected);
      EXPECT_EQ(std::set(done.begin(), done.end()).size(), expected);
      for (uint32_t flag = 0; flag < kExpertFlags; ++flag) {
        if (arrived[flag] == 0) continue;  // no thread waits for it
        EXPECT_EQ(arrived[flag], tasks.arrivals(flag));
      }
      EXPECT_EQ(tasks.out_tasks, (rows + 63) / 64 * 11);
    }
  }
}

// Longest tasks come first, since a thread that claims a long one last keeps the others waiting.
TEST(ExpertTasks, ExpertsWithMostRowsComeFirst) {
  const ExpertUnits units = some_units();
  const RouterRule rule{.experts = kExperts, .used = 4};
  const ExpertTasks::Shape shape{.panels = 4,
                                 .shared_panels = 4,
                                 .block_rows = 256,
                                 .threads = 2,
                                 .out_panels = 4,
                                 .out_step = 2,
                                 .out_rows = 256};
  std::vector<uint32_t> memory = routed(200, rule, false);
  const ExpertChoices choices = choices_over(memory.data(), 200, rule);
  std::vector<uint32_t> words(task_words(units.count()));
  const ExpertTasks tasks = cut_expert_tasks(units, shape, choices, words.data());
  EXPECT_EQ(tasks.order[0], units.count() - 1) << "every row takes the shared expert";
  for (uint32_t at = 1; at < tasks.active; ++at) {
    EXPECT_GE(units.rows(tasks.order[at - 1], choices), units.rows(tasks.order[at], choices));
  }
}

}  // namespace
}  // namespace hearth
