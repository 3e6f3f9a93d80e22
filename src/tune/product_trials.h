// ProductTrials: how long one product of a model takes under schedules, in steps of so many rows,
// on the threads that compute it, as a part of the time that it takes as set by hand.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "bench/packed_product.h"
#include "cost/paired_trials.h"
#include "graph/schedule_table.h"
#include "tune/schedule_search.h"

namespace hearth {

// How the ops of the graph compute a product where no schedule names it, in words of a schedule: in
// steps of `rows`, on a graph of steps of up to `max_rows`.
GemmSchedule schedule_by_hand(const GemmKernel& gemm, const ProductUse& use, uint32_t rows,
                              uint32_t max_rows);

class ProductTrials {
 public:
  // A trial takes at least so long.
  static constexpr double kLeastSeconds = 5e-4;

  // All that is given outlives it. `stop` is asked before every trial; once it says so, nothing is
  // timed any more.
  ProductTrials(const PackedCopies& weights, const Kernels& kernels, const ProductUse& use,
                uint32_t rows, uint32_t max_rows, TimedTeam& team,
                const std::function<bool()>& stop);

  const GemmSchedule& by_hand() const { return by_hand_; }
  // Returns the seconds of one product, from so many that the clock is exact.
  double seconds(const GemmSchedule& schedule);
  // Returns the seconds of a short trial, for a search; infinite where it was stopped.
  double cost(const GemmSchedule& schedule);
  // Searches among the tiles, or all (ScheduleSearch), by short trials, each of which is reported
  // to `told`. Then it runs the best schedules in turns and takes the fastest, since a single short
  // trial may flatter one.
  struct Found {
    GemmSchedule schedule;
    uint32_t trials;  // of the search
  };
  Found search(ScheduleSearch* search, const ScheduleSpace& space,
               const std::vector<ScheduleSpace::Tile>& tiles,
               const std::function<void(double cost)>& told);
  // The search's fast start alone, of products that are not dealt along K; none where it does not
  // look faster than by hand.
  std::optional<GemmSchedule> look(const ScheduleSearch& search, ScheduleSpace space,
                                   const std::vector<ScheduleSpace::Tile>& tiles);
  // Pairs of trials, until it is certain whether the schedule saves what it must. None where it was
  // stopped.
  struct Comparison {
    PairedTrials::Verdict verdict;
    TimeRatio cost;
    uint32_t pairs;
  };
  std::optional<Comparison> compare(const GemmSchedule& schedule);

 private:
  GemmSchedule fastest(const std::vector<GemmSchedule>& schedules);

  PackedProduct product_;
  GemmSchedule by_hand_;
  const std::function<bool()>& stop_;
  uint32_t threads_;
  uint32_t count_ = 1;  // products of a trial
};

}  // namespace hearth
