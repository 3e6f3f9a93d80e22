// ScheduleTuner: finds the fastest schedules for the products of a loaded model on this machine,
// under the engine's plans.
//
// It takes one product after the other, for the numbers of rows that the cases have. The search
// (schedule_search.h) times candidates on the threads that share the product. They work on several
// copies of a matrix of its shape in turn, which no cache holds. The search's result is then
// compared with the schedule by hand in pairs of trials. It is taken where it saves 1 % or more at
// 95 % confidence (PairedTrials). Then whole steps are timed in turns with all results and without
// them. If steps of so many rows get no faster, their products are computed by hand again.
//
// A tile is not tried if it never won in enough earlier searches (tune/tile_window.h). Searches for
// other products and other models count, too.
//
// After that, trials of whole decode steps choose the prefetching and the tasks of attention. A
// schedule of attention is taken only where it makes none of these steps slower.
//
// At the end, all gains of steps and of attention are measured a second time. What gains no more is
// taken back (tune/step_search.h).
//
// All steps of a phase have the same division of K (graph/ops/linear.cc). The phase's largest steps
// choose it, and it stays only where it gains in all steps.
//
// Every measurement is added to `Tuned`, and `save` is called after each product and each step. An
// interrupted tuner loses only the product or step that it was measuring, and the next tuner goes
// on after that point. When tune() returns or throws, the engine has the schedules that it had
// before.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "cost/tuned_file.h"
#include "tune/attend_search.h"
#include "tune/product_trials.h"
#include "tune/schedule_search.h"
#include "tune/step_search.h"
#include "tune/step_timer.h"
#include "tune/tile_window.h"
#include "tune/tune_hooks.h"
#include "tune/undecided.h"
#include "tune/work_share.h"

namespace hearth {

// A product that steps of one phase use.
struct ProductCase {
  ProductUse use;
  Phase phase;
  std::vector<uint32_t> rows;  // ascending
};

// Adds to `window` the winners of an earlier tuning with these kernels on this machine, under all
// plans. If a product kept its default schedule, that schedule counts as the winner.
void add_winners(const Tuned& tuned, const Kernels& kernels, TileWindow* window);

// Returns all products of both phases' graphs, each with the rows that it has in steps of the cases
// (product_rows()). Products of one shape follow one another, decode first. If a phase has several
// products of one shape, they count as one. K may then be divided if one of them allows it.
std::vector<ProductCase> product_cases(const Engine& engine, const TuneCases& cases);

class ScheduleTuner {
 public:
  // The engine must have been made with engine_options() of the cases, and `timer` with both.
  // `window` must have the winners of earlier tunings on this machine, for this model and others.
  ScheduleTuner(Engine& engine, const Machine& machine, TuneCases cases, StepTimer& timer,
                TuneHooks hooks, TileWindow window = {});
  ~ScheduleTuner();

  // Adds the results that `tuned` lacks. Afterwards `tuned->products` are those of the engine's
  // plan (divide_products()). Returns false where it was stopped before it had all results.
  bool tune(Tuned* tuned);
  // Adds results for the products of one phase under the engine's present plan, and times no whole
  // steps. search() and look() use `hooks` in place of the tuner's own.
  bool search(Phase phase, Tuned* tuned, const TuneHooks& hooks);
  // Runs only the fast start, for products that `tuned` lacks. Returns those schedules that look
  // faster than the default ones; none where it was stopped.
  std::optional<ScheduleTable> look(Phase phase, const Tuned& tuned, const TuneHooks& hooks);
  // Products that kept their default schedules since it was not certain that others are faster.
  const Undecided& undecided() const { return undecided_; }

 private:
  struct Copies;
  // Estimates for the time before the first search: what share of a space a search times, and how
  // large a space is.
  static constexpr double kLikelyShare = 0.08, kLikelySpace = 2000;

  WorkShare share_of(const std::vector<ProductCase>& all, const Tuned& tuned, bool steps) const;
  void report_progress();
  // Tunes the products of this phase; of both phases if `phase` is none.
  bool tune_products(Tuned* tuned, std::optional<Phase> phase);
  std::vector<ProductCase> products(std::optional<Phase> phase) const;
  const ScheduleEntry* learned_of(const ProductShape& product, uint32_t rows) const;
  bool tune_case(const ProductCase& product, Tuned* tuned);
  bool tune_dealt(const ProductCase& product, Tuned* tuned);
  std::optional<TunedProduct> tune_rows(const ProductCase& product, uint32_t rows,
                                        const std::vector<uint8_t>& parts);
  void keep(std::vector<TunedProduct> found, Tuned* tuned);
  Copies& copies_of(const ProductCase& product);
  ProductTrials trials_of(const ProductCase& product, uint32_t rows);
  ScheduleSpace space_of(const ProductCase& product, uint32_t rows) const;
  // Returns the candidates for attention in decode that are still to be compared.
  std::vector<AttendSchedule> attention_left(const Tuned& tuned) const;
  bool tune_attention(Tuned* tuned);
  bool confirm_attention(Tuned* tuned);
  CompareAttention compare_attention(const Tuned& tuned, uint32_t max_pairs);
  // Times steps for the first time, or with `confirm` for the second.
  bool tune_steps(bool confirm, Tuned* tuned);
  std::optional<StepComparison> compare_step(const StepCase& one, const ScheduleTable& table);

  Engine& engine_;
  const Machine& machine_;
  TuneCases cases_;
  TuneHooks hooks_;
  std::function<bool()> stop_;  // asked before trials of milliseconds
  StepTimer& timer_;
  std::unique_ptr<Copies> copies_;  // of the current product
  ScheduleSearch search_;           // of the current product
  TileWindow window_;
  std::vector<ScheduleEntry> learned_;  // of searches, under all plans
  TuneProgress progress_{"kernels", "product", 0, 0, 0, 0};
  WorkShare share_;  // of `progress_.all`
  // How many schedules the searches timed, and how many their spaces had in all.
  double timed_ = kLikelyShare * kLikelySpace, had_ = kLikelySpace;
  Undecided undecided_;
};

}  // namespace hearth
