// The search for the schedule of a product, step size by step size (Sandwich, section 6). It knows
// only a function that returns the time of a product under a schedule: from the machine, from a
// recorded table, or from a model.
//
// ScheduleSpace: the values that the search tries, which are a part of a kernel's menu. They are
// the values that have an effect with so many rows, each at most double the one before.
//
// A search has two phases:
//   fast start   Each tile is tried with the other values of the start. Then the best tiles get the
//                smallest slice and tasks. These are doubled, one dimension after the other, until
//                a doubling gains nothing (it is undone) or would leave threads without tasks.
//   fine tuning  For each division of K, all values of one dimension after the other are tried, as
//                long as any of them gains.
// One ScheduleSearch searches a product's numbers of rows in ascending order. If kStable numbers of
// rows in a row ended with the same slice and division of K, all larger numbers keep these two.
// Tiles are left out by what won for other products (tune/tile_window.h).
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
  // The values of each dimension; none is empty. All are ascending, except tiles and prefetches.
  std::vector<Tile> tiles;
  // [tile]: the index of the tile that the kernel uses in its place when it unpacks the weights
  // (TileRange::unpacked_panels). Empty: it always uses the same tile.
  std::vector<uint8_t> unpacked_tiles = {};
  std::vector<uint16_t> slices, unpack_rows;
  std::vector<Prefetch> prefetches;
  std::vector<uint16_t> task_panels, task_rows;
  std::vector<uint8_t> parts;
  // The largest task, as panels times rows. A larger one would leave threads without a task.
  uint64_t max_task = UINT64_MAX;

  static constexpr size_t kDimensions = 7;
  // A schedule as an index of a value in each dimension. The dimensions have the order of the
  // members.
  using Point = std::array<uint8_t, kDimensions>;
  std::array<size_t, kDimensions> sizes() const;
  // Returns the number of schedules whose tasks are not too large. Schedules by which the kernel
  // computes in the same way count as one.
  size_t size() const;
  bool has(const Point& point) const;
  // Returns the one point that stands for all points by which the kernel computes in the same way.
  Point alike(Point point) const;
  GemmSchedule at(const Point& point) const;
  // Returns all combinations of values in the order of their indices, also those for which has() is
  // false.
  std::vector<Point> box() const;
  // Returns the point whose values are nearest to those of a schedule.
  Point nearest(const GemmSchedule& schedule) const;
  bool operator==(const ScheduleSpace&) const = default;
};

ScheduleSpace schedule_space(const GemmMenu& menu, const ProductUse& use, uint32_t rows);

// Returns the seconds of a product under a schedule.
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

  // Searches for the product's next number of rows. `start` is the schedule in use now. The search
  // tries its tile and `tiles`, or all tiles if `tiles` is empty.
  SearchResult search(const ScheduleSpace& space, const GemmSchedule& start,
                      const ScheduleTimer& time,
                      const std::vector<ScheduleSpace::Tile>& tiles = {});
  // Runs only the fast start of a search with these arguments.
  SearchResult fast_start(const ScheduleSpace& space, const GemmSchedule& start,
                          const ScheduleTimer& time,
                          const std::vector<ScheduleSpace::Tile>& tiles = {}) const;
  // Lets the next search also start from this schedule, with which the search for a similar product
  // ended.
  void learn(const GemmSchedule& schedule) { learned_ = schedule; }
  // Takes over the result for a number of rows from an earlier tuning, in place of a search.
  void found(const GemmSchedule& best);

 private:
  class Run;

  std::optional<GemmSchedule> learned_;
  std::optional<GemmSchedule> last_;  // the result for the last number of rows
  size_t stable_ = 0;                 // how many results in a row agree with it
};

}  // namespace hearth
