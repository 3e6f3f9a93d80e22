// The places of some heads: in rows of floats, and in the panels of a weight that has their rows.
#pragma once

#include <cstdint>

#include "accelerator/kernel_calls.h"
#include "base/round_up.h"
#include "tensor/axis_cuts.h"
#include "tensor/weight.h"

namespace hearth {

// The rows from `row` on, each from `column` on.
inline FloatRows part_of(FloatRows rows, uint64_t row, uint64_t column) {
  rows.at = rows.at + (row * rows.stride + column) * sizeof(float);
  return rows;
}

// The panels of a row-cut weight that hold the rows of some heads in a shard, `length` each, and
// maybe some of their neighbours'.
struct HeadPanels {
  uint32_t panel0, panels, lead;  // lead: rows of the head before

  HeadPanels(const Shard& shard, UnitRange heads, uint32_t length) {
    const uint32_t begin = heads.begin * length - shard.row0;
    const uint32_t end = begin + heads.size() * length;
    panel0 = begin / kPanelRows;
    panels = (end + kPanelRows - 1) / kPanelRows - panel0;
    lead = begin % kPanelRows;
  }
  uint32_t columns() const { return panels * kPanelRows; }
};

// The most columns that so many rows' panels have, wherever they begin.
inline uint32_t most_columns(uint32_t rows) { return round_up(rows + kPanelRows - 1, kPanelRows); }

}  // namespace hearth
