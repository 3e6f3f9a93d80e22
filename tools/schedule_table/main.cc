// Records the times of products under every schedule of a space (tune/schedule_search.h), as data
// for the search's tests. Weights are rotated, so that products read memory.
//
//   schedule_table KIND ROWS ROUNDS [live]     e.g. q8_0 16 5, of the 0.6B shape's matrices
//
// A cell names the product and the space. It gives the time of the product with the schedule set by
// hand, then that of every point of the space in the order of its indices ('-': not in the space).
// Times are in units of 10 ns. A time is the least of all rounds, since disturbances only add to
// it. Each round goes through all points.
//
// With `live` it prints no cells. It compares a search on the machine with the best of the table, a
// line a cell: how many of the space's schedules the search timed, and the time of its result over
// that of the table's best, in kLivePairs pairs of trials: median and quartiles.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>

#include "bench/packed_product.h"
#include "bench/team_limits.h"
#include "bench/turns.h"
#include "engine/engine_options.h"
#include "engine/engine_plan.h"
#include "tensor/axis_cuts.h"
#include "tune/product_trials.h"
#include "tune/schedule_search.h"

namespace hearth {
namespace {

struct Matrix {
  uint32_t outputs, k;
  bool column_cut;
};
constexpr Matrix kMatrices[] = {
    {4096, 1024, false}, {1024, 2048, true}, {6144, 1024, false}, {1024, 3072, true}};

double least(const std::vector<double>& values) {
  return *std::min_element(values.begin(), values.end());
}

template <typename T>
void print_values(const char* name, const std::vector<T>& values) {
  fmt::print("{} {}\n", name, fmt::join(values, " "));
}

void print_space(const ScheduleSpace& space) {
  std::vector<std::string> tiles, prefetches;
  for (const auto& tile : space.tiles)
    tiles.push_back(fmt::format("{}x{}", tile.panels, tile.rows));
  for (const auto& p : space.prefetches) {
    prefetches.push_back(fmt::format("{}:{}", p.bytes, p.to == Cache::kL1 ? 1 : 2));
  }
  print_values("tiles", tiles);
  print_values("slices", space.slices);
  print_values("unpack", space.unpack_rows);
  print_values("prefetch", prefetches);
  print_values("panels", space.task_panels);
  print_values("task_rows", space.task_rows);
  print_values("parts", std::vector<uint32_t>(space.parts.begin(), space.parts.end()));
  fmt::print("most {}\n", space.max_task);
}

constexpr uint32_t kLivePairs = 20;
// The most rows of a decode step, and the most of a prefill step. Steps of more than the first are
// prefill's.
constexpr uint32_t kDecodeRows = 16, kPrefillRows = 512;

struct Recorded {
  std::vector<double> by_default;
  std::vector<std::vector<double>> times;  // by point; empty: not in the space
};

Recorded time_all(const ScheduleSpace& space, uint32_t rounds, PackedProduct& product) {
  product.run(3);
  const double seconds = product.run(4) / 4;
  const auto count = static_cast<uint32_t>(std::clamp(std::ceil(4e-4 / seconds), 1.0, 6.0));
  const auto points = space.box();
  Recorded recorded;
  recorded.times.resize(points.size());
  for (uint32_t round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < points.size(); ++i) {
      if (i == 0) {
        product.set_schedule({});
        recorded.by_default.push_back(product.run(count) / count);
      }
      if (!space.has(points[i])) continue;
      product.set_schedule(space.at(points[i]));
      recorded.times[i].push_back(product.run(count) / count);
    }
  }
  return recorded;
}

void print_cell(const Matrix& matrix, const ProductShape& shape, uint32_t m,
                const ScheduleSpace& space, const Recorded& recorded) {
  fmt::print("cell {} {} {} threads {} rows {} cut {}\n", pack_kind_name(shape.kind), shape.outputs,
             shape.k, shape.threads, m, matrix.column_cut ? "columns" : "rows");
  print_space(space);
  fmt::print("by_hand {:.0f}\ntimes", least(recorded.by_default) * 1e8);
  for (size_t i = 0; i < recorded.times.size(); ++i) {
    const std::vector<double>& times = recorded.times[i];
    fmt::print("{}{}", i % 16 == 0 ? "\n" : " ",
               times.empty() ? "-" : fmt::format("{:.0f}", least(times) * 1e8));
  }
  fmt::print("\n");
}

GemmSchedule best_of(const ScheduleSpace& space, const Recorded& recorded) {
  const auto points = space.box();
  size_t best = points.size();
  for (size_t i = 0; i < points.size(); ++i) {
    if (recorded.times[i].empty()) continue;
    if (best == points.size() || least(recorded.times[i]) < least(recorded.times[best])) best = i;
  }
  return space.at(points[best]);
}

void print_live(const ProductUse& use, uint32_t m, const ScheduleSpace& space,
                const GemmSchedule& best, const Kernels& kernels, TimedTeam& team,
                const PackedCopies& weights) {
  const std::function<bool()> never = [] { return false; };
  ProductTrials trials(weights, kernels, use, m, m <= kDecodeRows ? kDecodeRows : kPrefillRows,
                       team, never);
  ScheduleSearch search;
  const ProductTrials::Found found = trials.search(&search, space, {}, [](double) {});
  const TurnRatios ratios = time_in_turns(
      kLivePairs, [&] { return trials.seconds(found.schedule); },
      [&] { return trials.seconds(best); });
  fmt::print("{} {} {} rows {}: {} of {} timed, found over best {:.3f} ({:.3f} to {:.3f})\n",
             pack_kind_name(use.shape.kind), use.shape.outputs, use.shape.k, m, found.trials,
             space.size(), ratios.median, ratios.low, ratios.high);
}

void record(const Matrix& matrix, PackKind kind, uint32_t m, uint32_t rounds, bool live,
            TimedTeam& team, const PackedCopies& weights) {
  const Kernels& kernels = kernels_for(choose_isa(detect_cpu_features(), nullptr));
  const auto index = static_cast<size_t>(kind);
  const uint32_t segments = matrix.column_cut ? kSegments : 1;
  const ProductUse use{{kind, matrix.outputs, matrix.k, team.size()}, segments};
  const ScheduleSpace space = schedule_space(*kernels.gemm[index].menu, use, m);
  PackedProduct product(weights, kernels.gemm[index], m, team, {}, {.segments = segments});
  const Recorded recorded = time_all(space, rounds, product);
  if (live) {
    print_live(use, m, space, best_of(space, recorded), kernels, team, weights);
  } else {
    print_cell(matrix, use.shape, m, space, recorded);
  }
}

int run(const std::string& kind_name, uint32_t rows, uint32_t rounds, bool live) {
  size_t kind = 0;
  while (kind < kPackKinds && pack_kind_name(static_cast<PackKind>(kind)) != kind_name) ++kind;
  if (kind == kPackKinds || rows == 0 || rounds == 0) return 2;
  const Machine machine = Machine::live();
  const Placement placement = plan_engine(machine, EngineOptions{}).placement;
  Team team(placement, TeamOptions{.pin_caller = true});
  TimedTeam timed(team);
  const NodeBytes node = plan_read_buffers(machine, placement)[0];
  for (const Matrix& matrix : kMatrices) {
    const WeightType type{kind_name, static_cast<PackKind>(kind)};
    const Rotation rotation = plan_rotation({matrix.outputs, matrix.k, type, ""}, node.bytes);
    const PackedCopies weights(machine, node.node, rotation);
    record(matrix, type.kind, rows, rounds, live, timed, weights);
  }
  return 0;
}

}  // namespace
}  // namespace hearth

int main(int argc, char** argv) {
  const bool live = argc == 5 && std::string_view(argv[4]) == "live";
  if (argc != 4 && !live) return 2;
  return hearth::run(argv[1], static_cast<uint32_t>(std::atoi(argv[2])),
                     static_cast<uint32_t>(std::atoi(argv[3])), live);
}
