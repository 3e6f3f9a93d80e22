// Products for tests of steps. Each has a schedule that was found for it.
#pragma once

#include "cost/tuned_file.h"

namespace hearth {

inline constexpr GemmSchedule kFoundSchedule{.tile_panels = 1, .tile_rows = 1, .slice = 8};
inline constexpr ProductShape kDense{PackKind::kQ8_0, 4096, 1024, 2};
inline constexpr ProductShape kExperts{PackKind::kQ8_0, 768, 2048, 2, 8, 128};
inline constexpr uint32_t kPromptRows = 512;

inline void add_found(const ProductShape& shape, std::initializer_list<uint32_t> all_rows,
                      Tuned* tuned) {
  for (uint32_t rows : all_rows) {
    tuned->products.push_back({{shape, rows, kFoundSchedule}, {0.9, 0.8, 0.95}, 8});
  }
}

}  // namespace hearth
