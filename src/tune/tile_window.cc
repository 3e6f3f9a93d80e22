#include "tune/tile_window.h"

#include <algorithm>

namespace hearth {

void TileWindow::add(const ProductShape& product, uint32_t rows, const GemmSchedule& winner) {
  ++searches_[{product.kind, product.threads}];
  std::deque<ScheduleSpace::Tile>& like = winners_[{product.kind, product.threads, rows}];
  like.push_back({winner.tile_panels, winner.tile_rows});
  if (like.size() > kWinners) like.pop_front();
}

std::vector<ScheduleSpace::Tile> TileWindow::tiles(const ProductShape& product,
                                                   uint32_t rows) const {
  std::vector<ScheduleSpace::Tile> tiles;
  const auto all = searches_.find({product.kind, product.threads});
  const auto like = winners_.find({product.kind, product.threads, rows});
  if (all == searches_.end() || all->second < kWinners) return tiles;
  if (like == winners_.end() || like->second.size() < kLike) return tiles;
  for (const ScheduleSpace::Tile& tile : like->second) {
    if (std::ranges::count(tiles, tile) == 0) tiles.push_back(tile);
  }
  return tiles;
}

}  // namespace hearth
