// TileWindow: tells which tiles a search must try. After enough earlier searches it need not try
// all: kWinners of them for the same kernel and number of threads, and kLike of these for the same
// number of rows. They may be searches for any products and models. The search then tries only the
// tile from which it starts, and the tiles that won the last kWinners searches with its number of
// rows. (Sandwich, section 6, slides a window of 16 over the numbers of rows of one product, but
// here a product has only five or six.)
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
  // The tiles that won the last kWinners searches, by kernel, threads and rows.
  std::map<std::tuple<PackKind, uint32_t, uint32_t>, std::deque<ScheduleSpace::Tile>> winners_;
};

}  // namespace hearth
