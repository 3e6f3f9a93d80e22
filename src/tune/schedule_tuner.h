// ScheduleTuner: finds the schedules that are fastest for the products of a loaded model on this
// machine, under the engine's plans.
//
// It takes one product after the other, in the numbers of rows that the cases have. The search
// (schedule_search.h) times candidates on the threads that share the product, over rotated copies
// of a matrix of its shape. The search's result is compared with the schedule by hand in pairs of
// trials. It replaces the schedule by hand where it saves 1 % or more at 95 % confidence
// (PairedTrials). At last whole steps are timed in turns with all results and without. Where steps
// of so many rows got no faster, their products are computed as by hand again.
//
// Tiles that never won in enough earlier searches are not tried (tune/tile_window.h). Searches of
// other products and other models count, too.
//
// The prefetching and the tasks of attention are chosen at the end, by whole steps of decode. A
// schedule of attention is taken only where it makes none of them slower.
//
// The dealing of K is one for all steps of a phase (graph/ops/linear.cc). The phase's largest steps
// choose it, and it stays only where it gains in all of them.
//
// Every measurement is added to `Tuned`, and `save` is called product by product and step by step.
// An interrupted tuner loses only the product or step that it was measuring, and the next tuner
// goes on behind it. When tune() returns or throws, the engine has the schedules that it had
// before.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "cost/tuned_file.h"
#include "tune/product_trials.h"
#include "tune/schedule_search.h"
#include "tune/step_timer.h"
#include "tune/tile_window.h"
#include "tune/tune_hooks.h"
#include "tune/undecided.h"
#include "tune/work_share.h"

namespace hearth {

// A product in the steps of one phase that use it.
struct ProductCase {
  ProductUse use;
  Phase phase;
  std::vector<uint32_t> rows;  // ascending
};

// Adds the winners of a tuning on this machine with these kernels to `window`, under all plans. A
// product that kept its default schedule counts as won by that schedule.
void add_winners(const Tuned& tuned, const Kernels& kernels, TileWindow* window);

// Returns all products of both graphs, with the rows that they have in steps of the cases
// (product_rows()). Products of one shape follow one another, decode first. Several products of one
// shape are merged, and K may be dealt where one of them allows it.
std::vector<ProductCase> product_cases(const Engine& engine, const TuneCases& cases);

class ScheduleTuner {
 public:
  // The engine must have been made with engine_options() of the cases, and `timer` with both.
  // `window` has the winners on this machine, for this model and others.
  ScheduleTuner(Engine& engine, const Machine& machine, TuneCases cases, StepTimer& timer,
                TuneHooks hooks, TileWindow window = {});
  ~ScheduleTuner();

  // Adds the results that `tuned` lacks. Its products are those of the engine's plan afterwards
  // (divide_products()). Returns false where it was stopped before it was done.
  bool tune(Tuned* tuned);
  // Adds products of one phase under the plan that the engine has now, and times no steps. search()
  // and look() use their `hooks` in place of the tuner's own.
  bool search(Phase phase, Tuned* tuned, const TuneHooks& hooks);
  // Runs only the fast start for products that `tuned` lacks. Returns their schedules where these
  // look faster; none where it was stopped.
  std::optional<ScheduleTable> look(Phase phase, const Tuned& tuned, const TuneHooks& hooks);
  // Products that kept their default schedule because it was not certain that another is faster.
  const Undecided& undecided() const { return undecided_; }

 private:
  struct Copies;
  // Estimates before any search: the share of a space that a search times, and the size of a space.
  static constexpr double kLikelyShare = 0.08, kLikelySpace = 2000;

  WorkShare share_of(const std::vector<ProductCase>& all, const Tuned& tuned, bool steps) const;
  void report_progress();
  // Tunes the products of one phase, or of both.
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
  // Returns the candidates for attention in decode that were not compared yet.
  std::vector<AttendSchedule> attention_left(const Tuned& tuned) const;
  bool tune_attention(Tuned* tuned);
  bool tune_steps(Tuned* tuned);
  std::optional<PairedTrials> compare_steps(const ScheduleTable& table, Phase phase, uint32_t size);

  Engine& engine_;
  const Machine& machine_;
  TuneCases cases_;
  TuneHooks hooks_;
  std::function<bool()> stop_;  // asked before trials of milliseconds
  StepTimer& timer_;
  std::unique_ptr<Copies> copies_;  // of the current product
  ScheduleSearch search_;           // of the current product
  TileWindow window_;
  std::vector<ScheduleEntry> learned_;  // results of searches, under all plans
  TuneProgress progress_{"kernels", "product", 0, 0, 0, 0};
  WorkShare share_;  // of `progress_.all`
  // The number of schedules that searches timed, and the number that their spaces had.
  double timed_ = kLikelyShare * kLikelySpace, had_ = kLikelySpace;
  Undecided undecided_;
};

}  // namespace hearth
