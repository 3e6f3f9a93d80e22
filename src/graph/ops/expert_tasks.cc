#include "graph/ops/expert_tasks.h"

#include <algorithm>

namespace hearth {
namespace {

uint32_t divided(uint32_t n, uint32_t by) { return (n + by - 1) / by; }

uint32_t panels_of(const ExpertTasks::Shape& shape, const ExpertUnits& units, uint32_t unit) {
  return units.is_shared(unit) ? shape.shared_panels : shape.panels;
}

// Returns the panels of a task of gate and up. In a step of few rows tasks are short, since
// consecutive tasks that a thread claims are joined.
uint32_t step_of(const ExpertUnits& units, const ExpertTasks::Shape& shape,
                 const ExpertChoices& choices, std::span<const uint32_t> order) {
  uint64_t panels = 0;
  for (uint32_t unit : order) {
    const uint32_t blocks = divided(units.rows(unit, choices), shape.block_rows);
    panels += uint64_t{blocks} * panels_of(shape, units, unit);
  }
  const uint32_t step = long_task_panels(panels, shape.threads);
  return choices.rows <= kFewRows ? std::min(step, kGemmStreams) : step;
}

}  // namespace

uint32_t long_task_panels(uint64_t panels, uint32_t threads) {
  const uint64_t even = panels / (8 * uint64_t{threads}) / 2 * 2;
  return static_cast<uint32_t>(std::clamp<uint64_t>(even, 2, kJoinedPanels));
}

ExpertTasks cut_expert_tasks(const ExpertUnits& units, const ExpertTasks::Shape& shape,
                             const ExpertChoices& choices, uint32_t* memory) {
  ExpertTasks tasks;
  tasks.order = memory;
  tasks.place = memory + units.count();
  tasks.first = memory + size_t{2} * units.count();
  for (uint32_t unit = 0; unit < units.count(); ++unit) {
    if (units.rows(unit, choices) > 0) tasks.order[tasks.active++] = unit;
  }
  if (choices.rows > kFewRows) {
    std::sort(tasks.order, tasks.order + tasks.active, [&](uint32_t a, uint32_t b) {
      const uint32_t rows_a = units.rows(a, choices), rows_b = units.rows(b, choices);
      return rows_a != rows_b ? rows_a > rows_b : a < b;
    });
  }
  tasks.step = step_of(units, shape, choices, {tasks.order, tasks.active});
  tasks.first[0] = 0;
  for (uint32_t at = 0; at < tasks.active; ++at) {
    const uint32_t unit = tasks.order[at];
    const uint32_t blocks = divided(units.rows(unit, choices), shape.block_rows);
    tasks.place[unit] = at;
    tasks.first[at + 1] =
        tasks.first[at] + blocks * divided(panels_of(shape, units, unit), tasks.step);
  }
  tasks.row_blocks = divided(choices.rows, shape.out_rows);
  tasks.out_tasks = tasks.row_blocks * divided(shape.out_panels, shape.out_step);
  return tasks;
}

UpTask up_task(const ExpertTasks& tasks, const ExpertTasks::Shape& shape, const ExpertUnits& units,
               const ExpertChoices& choices, uint32_t index) {
  const uint32_t* next = std::upper_bound(tasks.first, tasks.first + tasks.active + 1, index);
  UpTask task{};
  task.at = static_cast<uint32_t>(next - tasks.first) - 1;
  task.unit = tasks.order[task.at];
  const uint32_t panels = panels_of(shape, units, task.unit);
  const uint32_t parts = divided(panels, tasks.step), within = index - tasks.first[task.at];
  task.row = within / parts * shape.block_rows;
  task.rows = std::min(shape.block_rows, units.rows(task.unit, choices) - task.row);
  const uint32_t panel0 = within % parts * tasks.step;
  task.panels = {panel0, std::min(tasks.step, panels - panel0)};
  return task;
}

}  // namespace hearth
