// TileWindow: tells which tiles a search need try. A search tries fewer once kWinners searches were
// made for its kernel and its number of threads, at least kLike of them for its number of rows.
// They may be of any products and models. It then tries only the tiles that won the last kWinners
// of the searches with its number of rows, and the tile that it starts from. (Sandwich, section 6,
// slides a window of 16 over the numbers of rows of one product, which are five or six here.)
#pragma once

#include <deque>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "tune/schedule_search.h"

namespace hearth {

class TileWindow {
 public:
  static constexpr size_t kWinners = 16, kLike = 3;

  // Adds the result of a search for this product in steps of so many rows.
  void add(const ProductShape& product, uint32_t rows, const GemmSchedule& winner);
  // Returns the tiles to try, each once; empty if all are to be tried.
  std::vector<ScheduleSpace::Tile> tiles(const ProductShape& product, uint32_t rows) const;

 private:
  std::map<std::pair<PackKind, uint32_t>, size_t> searches_;  // how many, by kernel and threads
  // The last kWinners tiles of each kernel, threads and rows.
  std::map<std::tuple<PackKind, uint32_t, uint32_t>, std::deque<ScheduleSpace::Tile>> winners_;
};

}  // namespace hearth
