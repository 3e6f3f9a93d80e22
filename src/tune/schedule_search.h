// The search for the schedule of a product, step size by step size (Sandwich, section 6). It sees
// only a function that tells how long a product takes under a schedule: the machine, a table that
// was recorded, or a model.
//
// ScheduleSpace: the values that are tried, some of a kernel's menu: what has an effect with so
// many rows, in steps of a doubling or less.
//
// A search goes in two phases:
//   fast start   Every tile is tried under the values that the search starts from. From the best
//                ones slices and tasks grow from the smallest, doubled one dimension after the
//                other, until that gains nothing (it is rolled back) or threads would lack tasks.
//   fine tuning  Under every dealing of K all values of a dimension are tried, one dimension after
//                the other, as long as any gains.
// A product's numbers of rows are searched in ascending order by one ScheduleSearch: slice and
// dealing that were the same for kStable numbers of rows on end stay for all larger ones. What won
// other products prunes the tiles (tune/tile_window.h).
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
  // Tasks of more than this, panels times rows, leave threads without one.
  uint64_t most_task = UINT64_MAX;

  static constexpr size_t kDimensions = 7;
  // A schedule by the index of its values, in the order of the members.
  using Point = std::array<uint8_t, kDimensions>;
  std::array<size_t, kDimensions> sizes() const;
  // Returns the number of schedules, without those whose tasks are too large; those that do the
  // same count once.
  size_t size() const;
  bool has(const Point& point) const;
  // The one that stands for all that do the same as the point's.
  Point alike(Point point) const;
  GemmSchedule at(const Point& point) const;
  // Returns all points in the order of their indices, those that has() does not know among them.
  std::vector<Point> box() const;
  // The values next to those of a schedule.
  Point nearest(const GemmSchedule& schedule) const;
  bool operator==(const ScheduleSpace&) const = default;
};

ScheduleSpace schedule_space(const GemmMenu& menu, const ProductUse& use, uint32_t rows);

// Seconds of a product.
using ScheduleTimer = std::function<double(const GemmSchedule& schedule)>;

struct SearchResult {
  GemmSchedule best;
  std::vector<GemmSchedule> runners_up;  // the next kRunnersUp at most, the fastest first
  double seconds = 0;                    // of the best
  uint32_t trials = 0;                   // schedules that were timed
};

class ScheduleSearch {
 public:
  static constexpr size_t kStable = 3;
  static constexpr size_t kRunnersUp = 4;

  // Searches for the product's next number of rows; `start` is the schedule of today. The tiles
  // that are tried beside the start's are `tiles`, or all where these are empty.
  SearchResult search(const ScheduleSpace& space, const GemmSchedule& start,
                      const ScheduleTimer& time,
                      const std::vector<ScheduleSpace::Tile>& tiles = {});
  // The fast start of such a search alone.
  SearchResult fast_start(const ScheduleSpace& space, const GemmSchedule& start,
                          const ScheduleTimer& time,
                          const std::vector<ScheduleSpace::Tile>& tiles = {}) const;
  // Lets the next search start from this schedule, too: the one that a like product's ended with.
  void learn(const GemmSchedule& schedule) { learned_ = schedule; }
  // Takes the result of an earlier search for a number of rows, instead of searching again.
  void found(const GemmSchedule& best);

 private:
  class Run;

  std::optional<GemmSchedule> learned_;
  std::optional<GemmSchedule> last_;  // that was found
  size_t stable_ = 0;                 // how many on end have its slice and dealing
};

}  // namespace hearth
