// The search for the schedule of a product, step size by step size (Sandwich, section 6). Its only
// source is a function that returns the time of a product under a schedule: from the machine, from
// a table that was recorded, or from a model.
//
// ScheduleSpace: the values that the search tries, a subset of a kernel's menu. They are the values
// that have an effect with so many rows, in steps of a doubling or less.
//
// A search goes in two phases:
//   fast start   Every tile is tried under the values that the search starts from. Then the best
//                tiles get the smallest slice and tasks. These are doubled, one dimension after the
//                other, until one gains nothing (it is undone) or leaves threads without tasks.
//   fine tuning  Under every dealing of K all values of a dimension are tried, one dimension after
//                the other, as long as any gains.
// One ScheduleSearch searches a product's numbers of rows in ascending order. Once slice and
// dealing were the same for kStable numbers of rows in a row, they stay the same for all larger
// ones. Tiles are left out by the winners of other products (tune/tile_window.h).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "graph/schedule_table.h"

namespace hearth {

struct ScheduleSpace {
  struct Tile {
    uint8_t panels, rows;
    bool operator==(const Tile&) const = default;
  };
  struct Prefetch {
    uint16_t bytes;
    Cache to;
    bool operator==(const Prefetch&) const = default;
  };
  // The values of each dimension: all but tiles and prefetches ascending, none empty.
  std::vector<Tile> tiles;
  // The index, by tile, of the tile that takes its place with unpacked weights
  // (TileRange::unpacked_panels). Empty: none is replaced.
  std::vector<uint8_t> unpacked_tiles = {};
  std::vector<uint16_t> slices, unpack_rows;
  std::vector<Prefetch> prefetches;
  std::vector<uint16_t> task_panels, task_rows;
  std::vector<uint8_t> parts;
  // The largest task, in panels times rows: larger ones leave threads without a task.
  uint64_t max_task = UINT64_MAX;

  static constexpr size_t kDimensions = 7;
  // A schedule as the index of its value in each dimension, in the order of the members.
  using Point = std::array<uint8_t, kDimensions>;
  std::array<size_t, kDimensions> sizes() const;
  // Returns the number of schedules whose tasks are not too large. Schedules that compute the same
  // way count once.
  size_t size() const;
  bool has(const Point& point) const;
  // Returns the point that stands for all points whose schedules compute the same way as this
  // one's.
  Point alike(Point point) const;
  GemmSchedule at(const Point& point) const;
  // Returns all points in the order of their indices, including those for which has() is false.
  std::vector<Point> box() const;
  // Returns the point whose values are nearest to those of a schedule.
  Point nearest(const GemmSchedule& schedule) const;
  bool operator==(const ScheduleSpace&) const = default;
};

ScheduleSpace schedule_space(const GemmMenu& menu, const ProductUse& use, uint32_t rows);

// Seconds of a product.
using ScheduleTimer = std::function<double(const GemmSchedule& schedule)>;

struct SearchResult {
  GemmSchedule best;
  std::vector<GemmSchedule> runners_up;  // at most kRunnersUp, the fastest first
  double seconds = 0;                    // of the best
  uint32_t trials = 0;                   // schedules that were timed
};

class ScheduleSearch {
 public:
  static constexpr size_t kStable = 3;
  static constexpr size_t kRunnersUp = 4;

  // Searches for the product's next number of rows. `start` is the schedule that is in use now.
  // Only `tiles` are tried beside its tile, or all tiles if `tiles` is empty.
  SearchResult search(const ScheduleSpace& space, const GemmSchedule& start,
                      const ScheduleTimer& time,
                      const std::vector<ScheduleSpace::Tile>& tiles = {});
  // Runs only the fast start of such a search.
  SearchResult fast_start(const ScheduleSpace& space, const GemmSchedule& start,
                          const ScheduleTimer& time,
                          const std::vector<ScheduleSpace::Tile>& tiles = {}) const;
  // Lets the next search start from this schedule, too. It is the result for a similar product.
  void learn(const GemmSchedule& schedule) { learned_ = schedule; }
  // Takes over the result of an earlier search for a number of rows, in place of a new search.
  void found(const GemmSchedule& best);

 private:
  class Run;

  std::optional<GemmSchedule> learned_;
  std::optional<GemmSchedule> last_;  // the last result
  size_t stable_ = 0;                 // how many results in a row had its slice and dealing
};

}  // namespace hearth
