#include "tune/tile_window.h"

#include <gtest/gtest.h>

namespace hearth {
namespace {

using Tiles = std::vector<ScheduleSpace::Tile>;

constexpr ProductShape kOne{PackKind::kQ4_K, 4096, 1024, 2}, kOther{PackKind::kQ4_K, 512, 9728, 2};

TEST(TileWindow, HasTheTilesThatWonStepsOfAsManyRows) {
  TileWindow window;
  for (uint8_t panels : {4, 2, 2}) window.add(kOne, 4, {.tile_panels = panels, .tile_rows = 3});
  for (size_t i = 3; i < TileWindow::kWinners; ++i) {
    EXPECT_EQ(window.tiles(kOther, 4), Tiles()) << "all are tried after few searches";
    window.add(kOther, 512, {.tile_panels = 1, .tile_rows = 16});
  }
  EXPECT_EQ(window.tiles(kOther, 4), (Tiles{{4, 3}, {2, 3}}));
  EXPECT_EQ(window.tiles(kOne, 512), (Tiles{{1, 16}}));
  window.add(kOne, 1, {.tile_panels = 2, .tile_rows = 6});
  EXPECT_EQ(window.tiles(kOther, 1), Tiles()) << "one search says little";
  for (size_t i = 0; i < TileWindow::kWinners; ++i) {
    window.add(kOther, 4, {.tile_panels = 1, .tile_rows = 8});
  }
  EXPECT_EQ(window.tiles(kOne, 4), (Tiles{{1, 8}})) << "the others have left the window";
}

TEST(TileWindow, IsOfOneKernelAndThreads) {
  TileWindow window;
  for (size_t i = 0; i < TileWindow::kWinners; ++i) window.add(kOne, 4, {.tile_panels = 2});
  EXPECT_FALSE(window.tiles(kOne, 4).empty());
  EXPECT_EQ(window.tiles({PackKind::kQ8_0, 4096, 1024, 2}, 4), Tiles());
  EXPECT_EQ(window.tiles({PackKind::kQ4_K, 4096, 1024, 1}, 4), Tiles());
}

}  // namespace
}  // namespace hearth
