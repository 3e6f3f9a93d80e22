#include "tune/schedule_tuner.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "bench/cpu_times.h"
#include "bench/team_limits.h"
#include "kernels/gemm/gemm_problem.h"
#include "memory/arena.h"
#include "tune/engine_restored.h"

namespace hearth {
namespace {

// The threads that share a product in a plan, and the node where its weights lie.
struct Sharers {
  std::vector<uint32_t> members;
  uint32_t node = 0;
};

Sharers sharers_of(const EnginePlan& engine, const Plan& plan, uint32_t threads) {
  for (const PlanGroup& group : plan.groups) {
    if (threads_per_shard(group) != threads) continue;
    const uint32_t shard = group.share.shard_begin;
    std::vector<uint32_t> members = group.members;
    std::stable_partition(members.begin(), members.end(),
                          [&](uint32_t member) { return plan.member_shards[member] == shard; });
    members.resize(threads);
    std::sort(members.begin(), members.end());
    return {std::move(members), engine.shard_nodes[shard]};
  }
  return {member_range(0, threads), engine.shard_nodes[0]};
}

// Returns how many copies of the product's matrix to rotate: so many that no cache holds them, but
// together no more bytes than all weights of the model.
Rotation rotation_of(const Engine& engine, const Machine& machine, const ProductShape& shape,
                     uint32_t node) {
  uint64_t bytes = uint64_t{1} << 20;
  for (const NodeBytes& part : plan_read_buffers(machine, engine.placement())) {
    if (part.node == node) bytes = std::max(bytes, part.bytes);
  }
  bytes = std::min<uint64_t>(bytes, engine.memory().weights);
  return plan_rotation({shape.outputs,
                        shape.k,
                        {pack_kind_name(shape.kind), shape.kind, forms_of(shape.kind).front()},
                        ""},
                       bytes);
}

// Returns the products of both phases' graphs, one for each shape.
std::vector<ProductUse> products_of(const Engine& engine) {
  std::vector<ProductUse> all;
  for (Phase phase : {Phase::kDecode, Phase::kPrefill}) {
    for (const ProductUse& use : engine.graph(phase).products()) {
      const auto same = std::ranges::find(all, use.shape, &ProductUse::shape);
      if (same == all.end()) {
        all.push_back(use);
        continue;
      }
      same->segments = std::max(same->segments, use.segments);
      same->of_outputs &= use.of_outputs;
      if (use.task_panels == 0) same->task_panels = 0;
    }
  }
  return all;
}

// Gives a tuner other hooks until the end of the scope.
class HooksLent {
 public:
  HooksLent(TuneHooks* of, TuneHooks hooks) : of_(of), own_(std::exchange(*of, std::move(hooks))) {}
  ~HooksLent() { *of_ = std::move(own_); }
  HooksLent(const HooksLent&) = delete;
  HooksLent& operator=(const HooksLent&) = delete;

 private:
  TuneHooks* of_;
  TuneHooks own_;
};

}  // namespace

void add_winners(const Tuned& tuned, const Kernels& kernels, TileWindow* window) {
  for (const std::vector<TunedProduct>* products : {&tuned.products, &tuned.others}) {
    for (const TunedProduct& product : *products) {
      const ScheduleEntry& entry = product.entry;
      const GemmKernel& gemm = kernels.gemm[static_cast<size_t>(entry.product.kind)];
      window->add(entry.product, entry.max_rows,
                  entry.schedule.is_default() ? gemm.default_for(entry.max_rows) : entry.schedule);
    }
  }
}

std::vector<ProductCase> product_cases(const Engine& engine, const TuneCases& cases) {
  const EnginePlan& plan = engine.plan();
  std::vector<uint32_t> decode, outputs, prefill;
  // The rows of a step decide which plan it uses.
  auto add_step = [&](uint32_t rows) {
    (rows <= plan.decode.max_rows ? decode : prefill).push_back(rows);
  };
  for (uint32_t sequences : cases.sequences) {
    add_step(sequences);
    if (sequences <= engine.options().outputs) outputs.push_back(sequences);
  }
  for (uint32_t prompt : cases.prompts) {
    add_step(std::min(prompt, plan.prefill.max_rows));
  }
  std::vector<ProductCase> all;
  for (const ProductUse& product : products_of(engine)) {
    std::set<uint32_t> known;
    for (Phase phase : {Phase::kDecode, Phase::kPrefill}) {
      const std::vector<uint32_t>& tokens = phase == Phase::kDecode ? decode : prefill;
      std::set<uint32_t> rows;
      for (const ProductUse& use : engine.graph(phase).products()) {
        if (use.shape != product.shape) continue;
        const std::vector<uint32_t>& has = use.of_outputs ? outputs : tokens;
        for (uint32_t of_step : has) {
          const std::vector<uint32_t> its = product_rows(use.shape, of_step);
          rows.insert(its.begin(), its.end());
        }
      }
      std::erase_if(rows, [&](uint32_t row) { return !known.insert(row).second; });
      if (!rows.empty()) all.push_back({product, phase, {rows.begin(), rows.end()}});
    }
  }
  return all;
}

struct ScheduleTuner::Copies {
  Copies(const Machine& machine, Engine& engine, const ProductCase& of, const Sharers& sharers,
         const Rotation& rotation)
      : shape(of.use.shape),
        phase(of.phase),
        weights(machine, sharers.node, rotation),
        team(engine.team(), sharers.members) {}

  ProductShape shape;
  Phase phase;
  PackedCopies weights;
  TimedTeam team;
};

ScheduleTuner::ScheduleTuner(Engine& engine, const Machine& machine, TuneCases cases,
                             StepTimer& timer, TuneHooks hooks, TileWindow window)
    : engine_(engine),
      machine_(machine),
      cases_(std::move(cases)),
      hooks_(std::move(hooks)),
      stop_([this] { return hooks_.stop(0); }),
      timer_(timer),
      window_(std::move(window)) {}

ScheduleTuner::~ScheduleTuner() = default;

bool ScheduleTuner::tune(Tuned* tuned) {
  const EngineRestored restored(engine_);
  const std::vector<ProductUse> has = products_of(engine_);
  divide_products(tuned, [&](const ProductShape& shape) {
    return std::ranges::find(has, shape, &ProductUse::shape) != has.end();
  });
  return tune_products(tuned, std::nullopt) && tune_steps(false, tuned) && tune_attention(tuned) &&
         tune_steps(true, tuned) && confirm_attention(tuned);
}

bool ScheduleTuner::search(Phase phase, Tuned* tuned, const TuneHooks& hooks) {
  const HooksLent lent(&hooks_, hooks);
  return tune_products(tuned, phase);
}

std::vector<ProductCase> ScheduleTuner::products(std::optional<Phase> phase) const {
  std::vector<ProductCase> all = product_cases(engine_, cases_);
  if (phase) std::erase_if(all, [&](const ProductCase& one) { return one.phase != *phase; });
  return all;
}

std::optional<ScheduleTable> ScheduleTuner::look(Phase phase, const Tuned& tuned,
                                                 const TuneHooks& hooks) {
  const HooksLent lent(&hooks_, hooks);
  ScheduleTable found;
  copies_.reset();
  for (const ProductCase& product : products(phase)) {
    const ProductShape& shape = product.use.shape;
    for (uint32_t rows : product.rows) {
      if (find_product(tuned.products, shape, rows) != nullptr) continue;
      const std::optional<GemmSchedule> best =
          trials_of(product, rows)
              .look(search_, space_of(product, rows), window_.tiles(shape, rows));
      if (stop_()) return std::nullopt;
      found.entries.push_back({shape, rows, best.value_or(GemmSchedule())});
    }
  }
  copies_.reset();
  return found;
}

// Returns the result for a similar product: with the same kernel, K and rows, and with the nearest
// other number of threads. Returns null where there is none.
const ScheduleEntry* ScheduleTuner::learned_of(const ProductShape& product, uint32_t rows) const {
  const ScheduleEntry* best = nullptr;
  auto off = [&](const ScheduleEntry& of) {
    return std::abs(std::log2(1.0 * of.product.threads / product.threads));
  };
  for (const ScheduleEntry& of : learned_) {
    const bool like = of.product.kind == product.kind && of.product.k == product.k;
    if (!like || of.max_rows != rows || of.product.threads == product.threads) continue;
    if (best == nullptr || off(of) < off(*best)) best = &of;
  }
  return best;
}

// Estimates how long each part of the tuning takes, in the order of the work. First come the
// searches, for each product and number of rows (0 where the schedule is known already). With
// `steps`, the trials of each whole step follow, then those of each candidate for attention, and
// then those that confirm both.
WorkShare ScheduleTuner::share_of(const std::vector<ProductCase>& all, const Tuned& tuned,
                                  bool steps) const {
  // How many trials a product takes; a short trial counts as several.
  constexpr double kProductTrials = 360;
  // How many trials one comparison of a whole step takes, and how many decode steps such a trial
  // has.
  constexpr double kStepTrials = 14, kStepsOfDecode = 5;
  // How many multiplications a thread does in a second. With fewer than kReadingRows rows, a
  // product takes as long as with kReadingRows, since reading the weights limits it.
  constexpr double kRate = 40e9;
  constexpr uint32_t kReadingRows = 8;
  auto seconds = [&](double weights, uint32_t rows, uint32_t threads) {
    return weights * std::max(rows, kReadingRows) / (kRate * threads);
  };
  std::vector<double> lengths;
  for (const ProductCase& product : all) {
    const ProductShape& shape = product.use.shape;
    std::vector<uint32_t> in_order = product.rows;
    if (product.use.segments > 1) std::rotate(in_order.begin(), in_order.end() - 1, in_order.end());
    for (uint32_t rows : in_order) {
      const double weights = 1.0 * shape.matrices * shape.outputs * shape.k;
      const double one = seconds(weights, rows, shape.threads);
      const bool known = find_product(tuned.products, shape, rows) != nullptr;
      lengths.push_back(known ? 0 : kProductTrials * std::max(one, ProductTrials::kMinSeconds));
    }
  }
  if (!steps) return WorkShare(std::move(lengths));
  const auto weights = static_cast<double>(engine_.memory().weights);
  std::vector<double> of_steps;
  double decode = 0;
  for (uint32_t rows : cases_.sequences) {
    of_steps.push_back(kStepTrials * kStepsOfDecode * seconds(weights, rows, engine_.threads()));
    decode += of_steps.back();
  }
  for (uint32_t rows : cases_.prompts) {
    of_steps.push_back(kStepTrials * seconds(weights, rows, engine_.threads()));
  }
  lengths.insert(lengths.end(), of_steps.begin(), of_steps.end());
  // A candidate for attention has twice the pairs of a step's comparison.
  lengths.insert(lengths.end(), attention_left(tuned).size(), 2 * decode);
  lengths.insert(lengths.end(), of_steps.begin(), of_steps.end());
  lengths.push_back(decode);
  return WorkShare(std::move(lengths));
}

void ScheduleTuner::report_progress() {
  progress_.part = share_.part(
      progress_.done, static_cast<double>(progress_.trials) / std::max(1u, progress_.about));
  hooks_.progress(progress_);
}

bool ScheduleTuner::tune_products(Tuned* tuned, std::optional<Phase> phase) {
  const std::vector<ProductCase> all = products(phase);
  progress_.done = 0;
  copies_.reset();
  share_ = share_of(all, *tuned, !phase);
  progress_.unit = "product";
  const size_t steps = cases_.sequences.size() + cases_.prompts.size();
  progress_.all = phase ? 0 : static_cast<uint32_t>(2 * steps + attention_left(*tuned).size() + 1);
  for (const ProductCase& product : all) {
    progress_.all += static_cast<uint32_t>(product.rows.size());
  }
  for (size_t i = 0; i < all.size(); ++i) {
    if (i == 0 || all[i].use.shape != all[i - 1].use.shape) search_ = {};
    if (!tune_case(all[i], tuned)) return false;
  }
  copies_.reset();
  return true;
}

bool ScheduleTuner::tune_case(const ProductCase& product, Tuned* tuned) {
  const ProductShape& shape = product.use.shape;
  bool all_known = true;
  for (uint32_t rows : product.rows)
    all_known = all_known && find_product(tuned->products, shape, rows) != nullptr;
  if (product.use.segments > 1 && !all_known) return tune_dealt(product, tuned);
  for (uint32_t rows : product.rows) {
    if (const TunedProduct* known = find_product(tuned->products, shape, rows)) {
      if (!known->entry.schedule.is_default()) {
        search_.found(known->entry.schedule);
        learned_.push_back(known->entry);
      }
      ++progress_.done;
      continue;
    }
    std::optional<TunedProduct> found = tune_rows(product, rows, {});
    if (!found) return false;
    keep({*std::move(found)}, tuned);
  }
  return true;
}

bool ScheduleTuner::tune_dealt(const ProductCase& product, Tuned* tuned) {
  const uint32_t done = progress_.done;
  std::optional<TunedProduct> largest = tune_rows(product, product.rows.back(), {});
  if (!largest) return false;
  auto the_others = [&](uint8_t parts, std::vector<TunedProduct>* found) {
    for (size_t i = 0; i + 1 < product.rows.size(); ++i) {
      std::optional<TunedProduct> one = tune_rows(product, product.rows[i], {parts});
      if (!one) return false;
      found->push_back(*std::move(one));
    }
    return true;
  };
  const uint8_t parts = largest->entry.schedule.k_parts;
  std::vector<TunedProduct> found{*largest};
  if (!the_others(parts, &found)) return false;
  const bool stay = std::ranges::any_of(
      found, [](const TunedProduct& one) { return one.entry.schedule.is_default(); });
  if (parts > 1 && stay) {
    progress_.done = done;
    largest = tune_rows(product, product.rows.back(), {1});
    if (!largest) return false;
    found = {*largest};
    if (!the_others(1, &found)) return false;
  }
  keep(std::move(found), tuned);
  return true;
}

void ScheduleTuner::keep(std::vector<TunedProduct> found, Tuned* tuned) {
  for (TunedProduct& one : found) {
    std::erase_if(tuned->products,
                  [&](const TunedProduct& of) { return of.entry.is_case_of(one.entry); });
    tuned->products.push_back(std::move(one));
  }
  tuned->steps.clear();
  hooks_.save();
}

ScheduleTuner::Copies& ScheduleTuner::copies_of(const ProductCase& product) {
  const ProductShape& shape = product.use.shape;
  if (copies_ == nullptr || copies_->shape != shape || copies_->phase != product.phase) {
    copies_.reset();
    const Sharers sharers =
        sharers_of(engine_.plan(), engine_.plan().of(product.phase), shape.threads);
    const Rotation rotation = rotation_of(engine_, machine_, shape, sharers.node);
    check_memory(rotation.copies * rotation.copy_bytes(), "the matrices that tuning reads",
                 machine_);
    copies_ = std::make_unique<Copies>(machine_, engine_, product, sharers, rotation);
  }
  return *copies_;
}

ProductTrials ScheduleTuner::trials_of(const ProductCase& product, uint32_t rows) {
  Copies& copies = copies_of(product);
  return {copies.weights,
          kernels_for(engine_.isa()),
          product.use,
          rows,
          engine_.plan().of(product.phase).max_rows,
          copies.team,
          stop_};
}

ScheduleSpace ScheduleTuner::space_of(const ProductCase& product, uint32_t rows) const {
  const auto kind = static_cast<size_t>(product.use.shape.kind);
  return schedule_space(*kernels_for(engine_.isa()).gemm[kind].menu, product.use, rows);
}

// `parts`: the divisions of K to try; empty: all.
std::optional<TunedProduct> ScheduleTuner::tune_rows(const ProductCase& product, uint32_t rows,
                                                     const std::vector<uint8_t>& parts) {
  const ProductShape& shape = product.use.shape;
  ProductTrials trials = trials_of(product, rows);
  ScheduleSpace space = space_of(product, rows);
  if (!parts.empty()) space.parts = parts;
  progress_.trials = 0;
  const auto size = static_cast<double>(space.size());
  progress_.about = 1 + static_cast<uint32_t>(size * timed_ / had_);
  progress_.best = 1;
  const auto on_cost = [&](double cost) {
    ++progress_.trials;
    progress_.best = std::min(progress_.best, cost);
    report_progress();
  };
  if (const ScheduleEntry* like = learned_of(shape, rows)) search_.learn(like->schedule);
  const ProductTrials::Found best =
      trials.search(&search_, space, window_.tiles(shape, rows), on_cost);
  timed_ += best.trials;
  had_ += size;
  TunedProduct found{{shape, rows, {}}, {}, best.trials};
  if (best.schedule != trials.default_schedule()) {
    const std::optional<ProductTrials::Comparison> compared = trials.compare(best.schedule);
    if (!compared) return std::nullopt;
    found.trials += compared->pairs;
    if (compared->verdict == PairedTrials::Verdict::kFalls) {
      found.entry.schedule = best.schedule;
      found.cost = compared->cost;
    } else {
      undecided_.add(compared->cost);
    }
  }
  if (stop_()) return std::nullopt;
  const bool stays = found.entry.schedule.is_default();
  window_.add(shape, rows, stays ? trials.default_schedule() : found.entry.schedule);
  learned_.push_back({shape, rows, best.schedule});
  ++progress_.done;
  return found;
}

}  // namespace hearth
