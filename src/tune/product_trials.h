// ProductTrials: measures the time of one product of a model under a schedule, in steps of so many
// rows. It uses the threads that share the product in such steps. Times are compared with the time
// "by hand", which is that of the default schedule.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "bench/packed_product.h"
#include "cost/paired_trials.h"
#include "graph/schedule_table.h"
#include "tune/schedule_search.h"

namespace hearth {

// Returns the schedule with which the graph's ops compute a product for which no table has a
// schedule. It is for steps of `rows` rows on a graph for steps of up to `max_rows`.
GemmSchedule make_default_schedule(const GemmKernel& gemm, const ProductUse& use, uint32_t rows,
                                   uint32_t max_rows);

class ProductTrials {
 public:
  // The least seconds of a trial.
  static constexpr double kMinSeconds = 5e-4;

  // All arguments must outlive this object. `stop` is asked before every trial. When it returns
  // true, no more trials are timed.
  ProductTrials(const PackedCopies& weights, const Kernels& kernels, const ProductUse& use,
                uint32_t rows, uint32_t max_rows, TimedTeam& team,
                const std::function<bool()>& stop);

  const GemmSchedule& default_schedule() const { return default_schedule_; }
  // Returns the seconds of one product. It is the mean over enough products for the clock to be
  // exact.
  double seconds(const GemmSchedule& schedule);
  // Returns the time under the schedule as a part of the time by hand, by a short trial, as
  // searches need it; infinity where it was stopped.
  double cost(const GemmSchedule& schedule);
  // Searches among `tiles`, or among all tiles if `tiles` is empty (ScheduleSearch), by short
  // trials. Passes the cost of each trial to `on_cost`. Then runs the best schedules in turns and
  // returns the fastest of them, since a single short trial may make one look too good.
  struct Found {
    GemmSchedule schedule;
    uint32_t trials;  // schedules that the search timed
  };
  Found search(ScheduleSearch* search, const ScheduleSpace& space,
               const std::vector<ScheduleSpace::Tile>& tiles,
               const std::function<void(double cost)>& on_cost);
  // Runs only the fast start of the search, with K in one part. Returns none where its best
  // schedule does not look faster than the schedule by hand.
  std::optional<GemmSchedule> look(const ScheduleSearch& search, ScheduleSpace space,
                                   const std::vector<ScheduleSpace::Tile>& tiles);
  // Runs pairs of trials against the schedule by hand until there is a verdict (PairedTrials).
  // Returns none where it was stopped.
  struct Comparison {
    PairedTrials::Verdict verdict;
    TimeRatio cost;
    uint32_t pairs;
  };
  std::optional<Comparison> compare(const GemmSchedule& schedule);

 private:
  GemmSchedule fastest(const std::vector<GemmSchedule>& schedules);

  PackedProduct product_;
  GemmSchedule default_schedule_;
  const std::function<bool()>& stop_;
  uint32_t threads_;
  uint32_t count_ = 1;  // products of a trial
};

}  // namespace hearth
