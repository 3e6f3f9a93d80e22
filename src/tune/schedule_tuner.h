// ScheduleTuner: finds the schedules that are fastest for the products of a loaded model on this
// machine, under the engine's plans.
//
// Product by product, for the numbers of rows that the cases have, the search (schedule_search.h)
// times candidates on the threads that share the product, over rotated copies of a matrix of its
// shape. What it finds is held against the schedule by hand in pairs of trials, and takes its place
// where that saves 1 % or more for certain (PairedTrials). At last whole steps are timed with all
// that was found and without, in turns: where steps of so many rows got no faster, their products
// are computed as by hand again.
//
// Tiles that never won among enough earlier searches, of other products and other models too, are
// not tried (tune/tile_window.h).
//
// How attention prefetches and is dealt out is chosen at the end, by whole steps of decode, where
// it makes none of them slower.
//
// How K is dealt is one for all steps of a phase (graph/ops/linear.cc): the phase's largest steps
// choose it, and it stays only where that gains in all of them.
//
// Everything measured is in `Tuned` and given to `save` product by product and step by step: who
// interrupts it loses the one that it was at, and the next tuner goes on behind it. The engine has
// the schedules that it came with when tune() returns, or throws.
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

// Counts in what a tuning found on this machine with these kernels, of all plans; of products whose
// default stayed, that.
void add_winners(const Tuned& tuned, const Kernels& kernels, TileWindow* window);

// Returns all products of both graphs, with the rows that they have in steps of the cases
// (product_rows()). Products of one shape follow one another, decode first; products of the same
// shape are one, whose K may be dealt where one of them allows it.
std::vector<ProductCase> product_cases(const Engine& engine, const TuneCases& cases);

class ScheduleTuner {
 public:
  // The engine was made with engine_options() of the cases, and `timer` is of both. `window`: of
  // what was found on this machine, for this model and others.
  ScheduleTuner(Engine& engine, const Machine& machine, TuneCases cases, StepTimer& timer,
                TuneHooks hooks, TileWindow window = {});
  ~ScheduleTuner();

  // Adds what `tuned` lacks, whose products are those of the engine's plan then
  // (divide_products()). Returns false where somebody stopped it before that was all.
  bool tune(Tuned* tuned);
  // Adds products of one phase under the plan that the engine has now, and times no steps. Here and
  // in look() `hooks` are in place of the tuner's own.
  bool search(Phase phase, Tuned* tuned, const TuneHooks& hooks);
  // Their fast start alone: schedules of those that `tuned` has not, where they look faster. None
  // where somebody stopped it.
  std::optional<ScheduleTable> look(Phase phase, const Tuned& tuned, const TuneHooks& hooks);
  // Products whose default stayed since it was not certain that another is faster.
  const Undecided& undecided() const { return undecided_; }

 private:
  struct Copies;
  // The share of a space that a search times, and the size of a space, as estimated before any
  // search was made.
  static constexpr double kLikelyShare = 0.08, kLikelySpace = 2000;

  WorkShare share_of(const std::vector<ProductCase>& all, const Tuned& tuned, bool steps) const;
  void tell();
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
  // Candidates for attention in decode that were not held against what is known.
  std::vector<AttendSchedule> attention_left(const Tuned& tuned) const;
  bool tune_attention(Tuned* tuned);
  bool tune_steps(Tuned* tuned);
  std::optional<PairedTrials> compare_steps(const ScheduleTable& table, Phase phase, uint32_t size);

  Engine& engine_;
  const Machine& machine_;
  TuneCases cases_;
  TuneHooks hooks_;
  std::function<bool()> stop_;  // of trials of milliseconds
  StepTimer& timer_;
  std::unique_ptr<Copies> copies_;  // of the product that it is at
  ScheduleSearch search_;           // and its search
  TileWindow window_;
  std::vector<ScheduleEntry> learned_;  // what searches ended with, of all plans
  TuneProgress progress_{"kernels", "product", 0, 0, 0, 0};
  WorkShare share_;  // of `progress_.all`
  // Schedules that searches timed, and that their spaces had.
  double timed_ = kLikelyShare * kLikelySpace, had_ = kLikelySpace;
  Undecided undecided_;
};

}  // namespace hearth
