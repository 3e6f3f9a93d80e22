// Random schedules for tests. Every field has the whole of its range on a menu; short slices and
// low thresholds are as frequent as long and high ones.
#pragma once

#include <algorithm>
#include <cmath>
#include <random>

#include "kernels/gemm/schedule.h"

namespace hearth {

inline uint16_t random_of(const ValueRange& range, std::mt19937& random) {
  std::uniform_real_distribution<double> power(std::log(range.least + 1.0),
                                               std::log(range.most + 2.0));
  const auto value = static_cast<uint32_t>(std::exp(power(random)) - 1);
  return static_cast<uint16_t>(std::clamp<uint32_t>(value, range.least, range.most));
}

inline GemmSchedule random_schedule(const GemmMenu& menu, std::mt19937& random) {
  const TileRange& tile = menu.tiles[random() % menu.tiles.size()];
  GemmSchedule s;
  s.tile_panels = tile.panels;
  s.tile_rows = static_cast<uint8_t>(
      std::uniform_int_distribution<int>(tile.min_rows, tile.max_rows)(random));
  s.slice = random_of(menu.slice, random);
  // All thresholds above the rows of a test have the same effect, so they are drawn rarely.
  s.unpack_rows = random() % 8 == 0 ? menu.unpack_rows.most
                                    : std::min<uint16_t>(random_of(menu.unpack_rows, random), 99);
  s.prefetch = random_of(menu.prefetch, random);
  s.prefetch_to = menu.to_l2 && random() % 2 == 0 ? Cache::kL2 : Cache::kL1;
  s.k_parts = static_cast<uint8_t>(1u << random() % 4);
  s.task_panels = random_of(kTaskPanelsRange, random);
  s.task_rows = random_of(kTaskRowsRange, random);
  while (uint32_t{s.task_panels} * s.task_rows > kMaxTaskTile) s.task_rows /= 2;
  return s;
}

}  // namespace hearth
