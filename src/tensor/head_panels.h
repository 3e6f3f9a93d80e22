// The panels of a row-cut weight that hold the rows of some heads. Heads need not begin and end
// with panels, so the first and the last panel may also hold rows of neighbouring heads.
#pragma once

#include <cstdint>

#include "base/round_up.h"
#include "tensor/axis_cuts.h"
#include "tensor/weight.h"

namespace hearth {

struct HeadPanels {
  uint32_t panel0, panels, lead;  // lead: rows of other heads in the first panel

  // Finds the panels within a shard; each head has `length` rows.
  HeadPanels(const Shard& shard, UnitRange heads, uint32_t length) {
    const uint32_t begin = heads.begin * length - shard.row0;
    const uint32_t end = begin + heads.size() * length;
    panel0 = begin / kPanelRows;
    panels = (end + kPanelRows - 1) / kPanelRows - panel0;
    lead = begin % kPanelRows;
  }
  uint32_t columns() const { return panels * kPanelRows; }
};

// Returns how many rows the panels that hold `rows` consecutive rows have at most. The first of the
// rows may be any row of its panel.
inline uint32_t max_columns(uint32_t rows) { return round_up(rows + kPanelRows - 1, kPanelRows); }

}  // namespace hearth
