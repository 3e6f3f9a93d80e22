#include "tune/schedule_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "graph/ops/gemm_tasks.h"

namespace hearth {
namespace {

// The dimensions of a point, in the order of its indices.
enum Dimension : size_t { kTile, kSlice, kUnpack, kPrefetch, kPanels, kRows, kParts };

constexpr double kGain = 0.005;  // the least gain that counts: smaller ones are noise
constexpr size_t kGrown = 2;     // for how many of the best tiles slices and tasks grow
// A tile, or a division of K, is not tuned finely if it takes so many times as long as the best
// one.
constexpr double kHopeless = 1.15;
// Shares of a space. A search times at most kMaxShare of it. It also starts from the corners of the
// space, until it has timed kCornerShare.
constexpr double kMaxShare = 0.15, kCornerShare = 0.08;
constexpr size_t kMinTrials = 24;

template <typename T>
void add_sorted(std::vector<T>* values, T value) {
  if (std::find(values->begin(), values->end(), value) == values->end()) values->push_back(value);
  std::sort(values->begin(), values->end());
}

std::vector<uint16_t> within(const std::vector<uint32_t>& wanted, const ValueRange& range,
                             uint32_t most) {
  std::vector<uint16_t> values;
  for (uint32_t value : wanted) {
    value = std::min({value, most, uint32_t{range.most}});
    add_sorted(&values, static_cast<uint16_t>(std::max<uint32_t>(value, range.least)));
  }
  return values;
}

// Returns the index of the value in `values` that is the fewest doublings away from `value`.
template <typename T>
uint8_t nearest_of(const std::vector<T>& values, T value) {
  size_t best = 0;
  auto distance = [&](T a) { return std::abs(std::log2((a + 1.0) / (value + 1.0))); };
  for (size_t i = 1; i < values.size(); ++i) {
    if (distance(values[i]) < distance(values[best])) best = i;
  }
  return static_cast<uint8_t>(best);
}

std::vector<ScheduleSpace::Tile> tiles_for(const GemmMenu& menu, uint32_t rows) {
  std::vector<ScheduleSpace::Tile> tiles;
  auto add = [&](uint8_t panels, uint8_t most) {
    const ScheduleSpace::Tile tile{panels, most};
    if (std::find(tiles.begin(), tiles.end(), tile) == tiles.end()) tiles.push_back(tile);
  };
  for (const TileRange& range : menu.tiles) {
    add(range.panels, range.max_rows);
    const auto half = static_cast<uint8_t>(range.max_rows / 2);
    if (rows > kFewRows / 2 && half > range.min_rows && half < rows) add(range.panels, half);
  }
  return tiles;
}

// Returns ScheduleSpace::unpacked_tiles for a kernel that unpacks. A tile that takes all rows keeps
// its place, since its panels also decide how K is cut.
std::vector<uint8_t> unpacked_tiles_of(const GemmMenu& menu,
                                       const std::vector<ScheduleSpace::Tile>& tiles,
                                       uint32_t rows) {
  std::vector<uint8_t> indices;
  for (const ScheduleSpace::Tile& tile : tiles) {
    const auto range = std::ranges::find_if(menu.tiles, [&](const TileRange& of) {
      return of.panels == tile.panels && of.min_rows <= tile.rows && tile.rows <= of.max_rows;
    });
    ScheduleSpace::Tile does = tile;
    if (range->unpacked_panels != 0) does.panels = range->unpacked_panels;
    if (range->unpacked_rows != 0) does.rows = range->unpacked_rows;
    auto found = std::ranges::find(tiles, does);
    if (found == tiles.end() || std::max(tile.rows, does.rows) >= rows) {
      found = std::ranges::find(tiles, tile);
    }
    indices.push_back(static_cast<uint8_t>(found - tiles.begin()));
  }
  return indices;
}

}  // namespace

std::array<size_t, ScheduleSpace::kDimensions> ScheduleSpace::sizes() const {
  return {tiles.size(),       slices.size(),    unpack_rows.size(), prefetches.size(),
          task_panels.size(), task_rows.size(), parts.size()};
}

size_t ScheduleSpace::size() const {
  size_t tasks = 0;
  for (uint32_t panels : task_panels) {
    for (uint32_t rows : task_rows) tasks += uint64_t{panels} * rows <= max_task ? 1 : 0;
  }
  size_t unpackings = tiles.size() * unpack_rows.size();
  for (uint8_t tile = 0; tile < unpacked_tiles.size(); ++tile) {
    if (unpacked_tiles[tile] != tile) --unpackings;
  }
  return unpackings * slices.size() * prefetches.size() * tasks * parts.size();
}

ScheduleSpace::Point ScheduleSpace::alike(Point point) const {
  const bool unpacks = unpack_rows[point[kUnpack]] != kNeverUnpack;
  if (unpacks && !unpacked_tiles.empty()) point[kTile] = unpacked_tiles[point[kTile]];
  return point;
}

bool ScheduleSpace::has(const Point& point) const {
  return uint64_t{task_panels[point[kPanels]]} * task_rows[point[kRows]] <= max_task;
}

std::vector<ScheduleSpace::Point> ScheduleSpace::box() const {
  const auto all = sizes();
  std::vector<Point> points;
  Point point{};
  for (;;) {
    points.push_back(point);
    size_t d = kDimensions;
    while (d > 0 && ++point[d - 1] == all[d - 1]) point[--d] = 0;
    if (d == 0) return points;
  }
}

GemmSchedule ScheduleSpace::at(const Point& point) const {
  const Tile& tile = tiles[point[kTile]];
  const Prefetch& prefetch = prefetches[point[kPrefetch]];
  return {.tile_panels = tile.panels,
          .tile_rows = tile.rows,
          .prefetch_to = prefetch.to,
          .k_parts = parts[point[kParts]],
          .slice = slices[point[kSlice]],
          .unpack_rows = unpack_rows[point[kUnpack]],
          .prefetch = prefetch.bytes,
          .task_panels = task_panels[point[kPanels]],
          .task_rows = task_rows[point[kRows]]};
}

ScheduleSpace::Point ScheduleSpace::nearest(const GemmSchedule& s) const {
  Point point{};
  auto tile_distance = [&](const Tile& tile) {
    return std::pair(std::abs(tile.panels - s.tile_panels), std::abs(tile.rows - s.tile_rows));
  };
  for (size_t i = 1; i < tiles.size(); ++i) {
    if (tile_distance(tiles[i]) < tile_distance(tiles[point[kTile]])) {
      point[kTile] = static_cast<uint8_t>(i);
    }
  }
  auto prefetch_distance = [&](const Prefetch& p) {
    return std::pair(std::abs(std::log2((p.bytes + 64.0) / (s.prefetch + 64.0))),
                     p.to != s.prefetch_to);
  };
  for (size_t i = 1; i < prefetches.size(); ++i) {
    if (prefetch_distance(prefetches[i]) < prefetch_distance(prefetches[point[kPrefetch]])) {
      point[kPrefetch] = static_cast<uint8_t>(i);
    }
  }
  point[kSlice] = nearest_of(slices, s.slice);
  point[kUnpack] = nearest_of(unpack_rows, s.unpack_rows);
  point[kRows] = nearest_of(task_rows, s.task_rows);
  point[kPanels] = nearest_of(task_panels, s.task_panels);
  point[kParts] = nearest_of(parts, s.k_parts);
  while (!has(point) && point[kPanels] > 0) --point[kPanels];
  while (!has(point) && point[kRows] > 0) --point[kRows];
  return point;
}

ScheduleSpace schedule_space(const GemmMenu& menu, const ProductUse& use, uint32_t rows) {
  const ProductShape& product = use.shape;
  ScheduleSpace space;
  space.tiles = tiles_for(menu, rows);
  const bool few = rows <= kFewRows;
  const bool sliced = std::any_of(space.tiles.begin(), space.tiles.end(),
                                  [&](const ScheduleSpace::Tile& t) { return t.rows < rows; });
  const uint32_t blocks = product.k / kBlock;
  space.slices = within(sliced ? std::vector<uint32_t>{8, 16, 32, 64, 96} : std::vector{blocks},
                        menu.slice, blocks);
  space.unpack_rows = {menu.unpack_rows.least};
  if (menu.unpack_rows.most > 0) {
    // unpack_rows is the least number of rows for which weights are unpacked. The number of rows is
    // fixed here, so two values suffice: 1 (unpack) and kNeverUnpack (do not).
    space.unpack_rows =
        sliced ? std::vector<uint16_t>{1, kNeverUnpack} : std::vector<uint16_t>{kNeverUnpack};
    if (sliced) space.unpacked_tiles = unpacked_tiles_of(menu, space.tiles, rows);
  }
  const std::vector<uint32_t> distances =
      rows == 1 ? std::vector<uint32_t>{0, 1024, 2048, 3072, 4096, 6144, 8192}
      : few     ? std::vector<uint32_t>{0, 2048, 4096, 8192}
                : std::vector<uint32_t>{0, 4096};
  for (uint16_t bytes : within(distances, menu.prefetch, menu.prefetch.most)) {
    space.prefetches.push_back({bytes, Cache::kL1});
    if (few && menu.to_l2 && bytes != 0) space.prefetches.push_back({bytes, Cache::kL2});
  }
  const uint32_t panels = product.outputs / kPanelRows;
  space.task_panels =
      within(few ? std::vector<uint32_t>{1, 2, 4, 8, 16, 32} : std::vector<uint32_t>{4, 8, 16},
             kTaskPanelsRange, std::max(1u, panels / product.threads));
  space.task_rows = within(few          ? std::vector<uint32_t>{256}
                           : rows <= 64 ? std::vector<uint32_t>{16, 32, 64}
                                        : std::vector<uint32_t>{64, 128, 256, 512},
                           kTaskRowsRange, kTaskRowsRange.most);
  space.parts = {1};
  for (uint32_t parts = 2; parts <= std::min<uint32_t>(use.segments, kPartsRange.most);
       parts *= 2) {
    space.parts.push_back(static_cast<uint8_t>(parts));
  }
  // A task may be so large that each thread still gets one.
  space.max_task = few ? UINT64_MAX : uint64_t{panels} * rows / product.threads;
  space.max_task = std::min<uint64_t>(space.max_task, few ? UINT64_MAX : kMaxTaskTile);
  if (use.task_panels != 0) {
    space.task_panels = {use.task_panels};
    space.task_rows = {kTaskRows};
    space.max_task = UINT64_MAX;
  }
  return space;
}

class ScheduleSearch::Run {
 public:
  // `tiles`: the tiles to try beside the one of the start; empty: all.
  Run(const ScheduleSpace& space, const ScheduleTimer& time,
      const std::vector<ScheduleSpace::Tile>& tiles)
      : space_(space), time_(time), tiles_(tiles), space_size_(counted_size(space)) {}

  // [dimension]: whether the search keeps the value of the start.
  std::array<bool, ScheduleSpace::kDimensions> fixed{};

  // Runs the fast start, from the fastest of these schedules.
  void start_from(const std::vector<GemmSchedule>& starts) {
    for (const GemmSchedule& start : starts) seconds(space_.nearest(start));
    const std::vector<Point> tiles = ranked_tiles();
    for (size_t i = 0; i < std::min(kGrown, tiles.size()); ++i) grow(tiles[i]);
  }

  void tune_finely() {
    tune(best_);
    // Tries the other tiles and the other divisions of K, each with the other values that are best
    // so far.
    const Point first = best_;
    for (Dimension d : {kTile, kParts}) {
      for (uint8_t index = 0; index < space_.sizes()[d] && !fixed[d]; ++index) {
        Point other = best_;
        other[d] = index;
        if (index == first[d] || !allowed(other)) continue;
        if (seconds(other) < kHopeless * seconds(best_)) tune(other);
      }
    }
    tune_from_corners();
  }

  SearchResult result() {
    return {space_.at(best_), runners_up(), seconds(best_), static_cast<uint32_t>(timed_.size())};
  }

 private:
  using Point = ScheduleSpace::Point;

  // Returns the size of the space, but counts at most two divisions of K, so that more divisions do
  // not make the search longer.
  static double counted_size(const ScheduleSpace& space) {
    const size_t dealings = space.parts.size();
    return static_cast<double>(space.size() / dealings * std::min<size_t>(dealings, 2));
  }
  // Returns the seconds of a point. Returns infinity if the point is not in the space, or if the
  // search has already timed as many points as it may.
  double seconds(const Point& asked) {
    const Point point = space_.alike(asked);
    const auto known = timed_.find(point);
    if (known != timed_.end()) return known->second;
    if (!space_.has(point) || timed_.size() >= share(kMaxShare)) {
      return std::numeric_limits<double>::infinity();
    }
    const double result = time_(space_.at(point));
    timed_.emplace(point, result);
    if (timed_.size() == 1 || result < timed_.at(best_)) best_ = point;
    return result;
  }
  size_t share(double part) const {
    return std::max<size_t>(kMinTrials, static_cast<size_t>(part * space_size_));
  }

  std::vector<GemmSchedule> runners_up() const {
    std::vector<std::pair<double, Point>> ranked;
    for (const auto& [point, took] : timed_) {
      if (point != best_) ranked.emplace_back(took, point);
    }
    std::sort(ranked.begin(), ranked.end());
    std::vector<GemmSchedule> schedules;
    for (size_t i = 0; i < std::min(kRunnersUp, ranked.size()); ++i) {
      schedules.push_back(space_.at(ranked[i].second));
    }
    return schedules;
  }

  // Whether the search tries the point's tile.
  bool allowed(const Point& point) const {
    const ScheduleSpace::Tile& tile = space_.tiles[point[kTile]];
    return tiles_.empty() || std::ranges::count(tiles_, tile) > 0;
  }

  bool gains(const Point& point, const Point& over) {
    return seconds(point) < (1 - kGain) * seconds(over);
  }

  // Returns points that differ from the start only in the tile, one for each tile that is tried,
  // the fastest first.
  std::vector<Point> ranked_tiles() {
    const Point start = best_;
    std::vector<Point> points;
    for (uint8_t tile = 0; tile < space_.tiles.size(); ++tile) {
      Point point = start;
      point[kTile] = tile;
      const bool known = std::ranges::any_of(
          points, [&](const Point& other) { return space_.alike(other) == space_.alike(point); });
      if (!known && (tile == start[kTile] || allowed(point))) points.push_back(point);
    }
    std::sort(points.begin(), points.end(),
              [&](const Point& a, const Point& b) { return seconds(a) < seconds(b); });
    return points;
  }

  // Returns the index of the first value that is at least twice as large, or the last index.
  static uint8_t doubled(const std::vector<uint16_t>& values, uint8_t index) {
    size_t next = index + 1;
    while (next + 1 < values.size() && values[next] < 2 * values[index]) ++next;
    return static_cast<uint8_t>(next);
  }

  // Grows the slice and the task from the smallest ones, as the fast start does by doubling.
  void grow(Point point) {
    const std::pair<Dimension, const std::vector<uint16_t>*> dimensions[] = {
        {kSlice, &space_.slices}, {kPanels, &space_.task_panels}, {kRows, &space_.task_rows}};
    for (const auto& [dimension, values] : dimensions) {
      if (!fixed[dimension]) point[dimension] = 0;
    }
    for (const auto& [dimension, values] : dimensions) {
      while (!fixed[dimension] && point[dimension] + 1u < values->size()) {
        Point larger = point;
        larger[dimension] = doubled(*values, point[dimension]);
        if (!gains(larger, point)) break;
        point = larger;
      }
    }
  }

  // Tunes finely from a point, and keeps its tile and its division of K. Tries all values of one
  // dimension after the other, and repeats that until no dimension gains.
  void tune(Point point) {
    constexpr Dimension kOrder[] = {kPanels, kPrefetch, kRows, kSlice, kUnpack};
    const auto sizes = space_.sizes();
    for (bool moved = true; moved;) {
      moved = false;
      for (Dimension d : kOrder) {
        Point next = point;
        for (uint8_t index = 0; index < sizes[d] && !fixed[d]; ++index) {
          Point other = point;
          other[d] = index;
          if (seconds(other) < seconds(next)) next = other;
        }
        if (!gains(next, point)) continue;
        moved = true;
        point = next;
      }
    }
  }

  // Tunes finely also from the corners of the space, as long as few schedules were tried. There may
  // be a better schedule that no single change of a value leads to.
  void tune_from_corners() {
    constexpr Dimension kEnds[] = {kPanels, kPrefetch, kSlice};
    for (uint32_t corner = 0; corner < 8 && timed_.size() < share(kCornerShare); ++corner) {
      Point point = best_;
      for (uint32_t i = 0; i < 3; ++i) {
        if (fixed[kEnds[i]]) continue;
        const size_t last = space_.sizes()[kEnds[i]] - 1;
        point[kEnds[i]] = static_cast<uint8_t>((corner >> i & 1) != 0 ? last : 0);
      }
      tune(point);
    }
  }

  const ScheduleSpace& space_;
  const ScheduleTimer& time_;
  const std::vector<ScheduleSpace::Tile>& tiles_;
  double space_size_;
  std::map<Point, double> timed_;
  Point best_{};
};

SearchResult ScheduleSearch::search(const ScheduleSpace& space, const GemmSchedule& start,
                                    const ScheduleTimer& time,
                                    const std::vector<ScheduleSpace::Tile>& tiles) {
  Run run(space, time, tiles);
  GemmSchedule from = start;
  if (stable_ >= kStable) {
    run.fixed[kSlice] = run.fixed[kParts] = true;
    from.slice = last_->slice;
    from.k_parts = last_->k_parts;
  }
  std::vector<GemmSchedule> starts{from};
  if (learned_) {
    starts.push_back(*std::exchange(learned_, std::nullopt));
    starts.back().slice = run.fixed[kSlice] ? from.slice : starts.back().slice;
    starts.back().k_parts = run.fixed[kParts] ? from.k_parts : starts.back().k_parts;
  }
  run.start_from(starts);
  run.tune_finely();
  const SearchResult result = run.result();
  found(result.best);
  return result;
}

SearchResult ScheduleSearch::fast_start(const ScheduleSpace& space, const GemmSchedule& start,
                                        const ScheduleTimer& time,
                                        const std::vector<ScheduleSpace::Tile>& tiles) const {
  Run run(space, time, tiles);
  run.start_from({start});
  return run.result();
}

void ScheduleSearch::found(const GemmSchedule& best) {
  const bool same = last_ && last_->slice == best.slice && last_->k_parts == best.k_parts;
  stable_ = same ? stable_ + 1 : 1;
  last_ = best;
}

}  // namespace hearth
