// TileWindow: which tiles a search need try. Once kWinners searches of one kernel on as many
// threads are done, of whatever products and models, the next one in steps of some rows tries only
// tiles that won one of the last kWinners searches in steps of as many rows; all where there were
// fewer than kLike of these. (Sandwich, section 6, slides a window of 16 over the numbers
// of rows of one product, which are five or six here.)
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
  // Returns the tiles, each once; empty: all are to be tried.
  std::vector<ScheduleSpace::Tile> tiles(const ProductShape& product, uint32_t rows) const;

 private:
  std::map<std::pair<PackKind, uint32_t>, size_t> searches_;  // by kernel and threads
  // The last kWinners tiles of each kernel, threads and rows.
  std::map<std::tuple<PackKind, uint32_t, uint32_t>, std::deque<ScheduleSpace::Tile>> winners_;
};

}  // namespace hearth
