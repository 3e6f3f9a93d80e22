// Cuts the work of a layer's experts on one shard into tasks of a step. The cut follows from the
// number of rows that routing gave each expert. Every thread computes it for itself.
#pragma once

#include <cstdint>
#include <span>

#include "graph/ops/gemm_tasks.h"
#include "kernels/routing/routing.h"

namespace hearth {

// The experts that a group computes of one shard, in the order in which they are summed. The shared
// expert, if there is one, is the last.
struct ExpertUnits {
  std::vector<uint32_t> ids;     // of the routed ones, ascending
  std::vector<int32_t> unit_of;  // by expert; -1: not of this group
  bool shared = false;

  uint32_t count() const { return static_cast<uint32_t>(ids.size()) + (shared ? 1u : 0u); }
  bool is_shared(uint32_t unit) const { return unit == ids.size(); }
  uint32_t rows(uint32_t unit, const ExpertChoices& choices) const {
    return is_shared(unit) ? choices.rows : choices.count(ids[unit]);
  }
};

// The flags of a shard by which threads tell each other which experts' gates and ups are done.
inline constexpr uint32_t kExpertFlags = 16;

// The tasks of one shard in a step: those of gate and up, then those of down.
struct ExpertTasks {
  struct Shape {
    uint32_t panels, shared_panels;  // of an expert's gate
    uint32_t block_rows;             // the most rows that a task gathers, a multiple of 16
    uint32_t threads;                // that share them
    uint32_t out_panels;             // of an expert's down
    uint32_t out_step;               // panels of a task of down
    uint32_t out_rows;               // rows of a task of down, at most
  };

  uint32_t active = 0;        // units that have rows
  uint32_t* order = nullptr;  // [active] units, most rows first; in a step of few rows by number
  uint32_t* place = nullptr;  // [units] index in `order`, for units that have rows
  uint32_t* first = nullptr;  // [active + 1] number of each unit's first task, by `order`
  uint32_t step = 0;          // panels of a task, even
  uint32_t out_tasks = 0, row_blocks = 0;

  uint32_t up_tasks() const { return first[active]; }
  uint32_t count() const { return up_tasks() + out_tasks; }
  uint32_t flag_of(uint32_t at) const {
    return static_cast<uint32_t>(uint64_t{at} * kExpertFlags / active);
  }
  // Returns how many arrivals complete a flag.
  uint32_t arrivals(uint32_t flag) const {
    return first[begin_of(flag + 1)] - first[begin_of(flag)];
  }

 private:
  // Returns the first of the places in `order` that a flag stands for.
  uint32_t begin_of(uint32_t flag) const {
    return static_cast<uint32_t>((uint64_t{flag} * active + kExpertFlags - 1) / kExpertFlags);
  }
};

// Returns how many of the `panels` panels a task of gate and up has in steps of many rows. Every
// task gathers its rows first, so tasks are as long as they can be with about eight for each
// thread.
uint32_t long_task_panels(uint64_t panels, uint32_t threads);

constexpr size_t task_words(uint32_t units) { return size_t{3} * units + 1; }
// Cuts a step's experts into tasks. The result's arrays lie in `memory`, which must hold
// task_words(units.count()) words.
ExpertTasks cut_expert_tasks(const ExpertUnits& units, const ExpertTasks::Shape& shape,
                             const ExpertChoices& choices, uint32_t* memory);

// A task of gate and up: rows [row, row + rows) of the unit's rows, and some of its panels.
struct UpTask {
  uint32_t unit, at;  // `at`: its place in the order
  uint32_t row, rows;
  PanelRange panels;
};
UpTask up_task(const ExpertTasks& tasks, const ExpertTasks::Shape& shape, const ExpertUnits& units,
               const ExpertChoices& choices, uint32_t index);

}  // namespace hearth
