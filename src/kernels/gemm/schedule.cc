#include "kernels/gemm/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace hearth {
namespace {

std::string tile_names(const GemmMenu& menu) {
  std::string names;
  for (const TileRange& tile : menu.tiles) {
    if (!names.empty()) names += ", ";
    names += tile.min_rows == tile.max_rows
                 ? fmt::format("{} x {}", tile.panels, tile.max_rows)
                 : fmt::format("{} x {} to {}", tile.panels, tile.min_rows, tile.max_rows);
  }
  return names;
}

std::string range_fault(const char* name, uint32_t value, const ValueRange& range) {
  if (range.has(value)) return {};
  if (range.least == range.most) return fmt::format("{} is {}, not {}", name, value, range.least);
  return fmt::format("{} is {}, not {} to {}", name, value, range.least, range.most);
}

}  // namespace

std::string schedule_fault(const GemmSchedule& s, const GemmMenu& menu) {
  const bool has_tile = std::any_of(menu.tiles.begin(), menu.tiles.end(), [&](const TileRange& t) {
    return t.panels == s.tile_panels && t.min_rows <= s.tile_rows && s.tile_rows <= t.max_rows;
  });
  if (!has_tile) {
    return fmt::format("tile is {} x {}, not one of {}", s.tile_panels, s.tile_rows,
                       tile_names(menu));
  }
  for (std::string fault :
       {range_fault("slice", s.slice, menu.slice),
        range_fault("unpack", s.unpack_rows, menu.unpack_rows),
        range_fault("prefetch", s.prefetch, menu.prefetch),
        s.prefetch_to == Cache::kL2 && !menu.to_l2 ? std::string("prefetches go to l1 only")
                                                   : std::string(),
        range_fault("task panels", s.task_panels, kTaskPanelsRange),
        range_fault("task rows", s.task_rows, kTaskRowsRange),
        range_fault("parts", s.k_parts, kPartsRange)}) {
    if (!fault.empty()) return fault;
  }
  if (!std::has_single_bit(s.k_parts)) {
    return fmt::format("parts is {}, not a power of two", s.k_parts);
  }
  if (uint32_t{s.task_panels} * s.task_rows > kMaxTaskTile) {
    return fmt::format("a task of {} panels x {} rows is larger than {} in all", s.task_panels,
                       s.task_rows, kMaxTaskTile);
  }
  return {};
}

}  // namespace hearth
