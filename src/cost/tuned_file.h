// The results of tuning for one model shape on one machine, and the text file that keeps them:
//
//   hearth-tuned 1
//   machine cpu AMD EPYC 7H12 64-Core Processor
//   ...                                a line for each field of machine_fields()
//   model layers 28
//   ...                                a line for each field of model_fields()
//   section plans
//   phase decode measured 0.931 0.918 0.944 trials 41
//   trial decode 9f3c8a1200b4d5e6 0.931 0.918 0.944
//   threshold 32 0.973 0.967 0.979 trials 60
//   threshold_trial 32 3b0e8a1200b4d5e6 0.973 0.967 0.979 dearest 1.004
//   joint decode 9f3c8a1200b4d5e6 77aa8a1200b4d5e6 0.953 0.941 0.966
//   engine
//   hearth-engine-plan 3               and all of an engine's plan (engine/engine_plan.h)
//   ...
//   end
//   section kernels
//   product 0.912 0.905 0.919 trials 61 schedule q8_0 4096 1024 threads 2 rows 16 tile ...
//   other 0.874 0.861 0.889 trials 70 schedule q8_0 4096 1024 threads 4 rows 16 tile ...
//   attend 0.981 0.975 0.988 trials 20 4 8
//   attend_tried 4 0
//   attend_tried 0 8
//   step decode 16 0.981 0.975 0.988 trials 20
//   end
//
// A phase's line says what the chosen plan costs as a part of what the default does, with the ends
// of the interval that holds it at 95 %, whether that was measured or predicted, and how many
// trials there were; 1 1 1 where the default stays. A trial's line keeps what was measured of one
// candidate, by the hash of its plan. The threshold's line says up to how many rows a step is
// decode's, and what that costs as a part of what the default does, 1 1 1 where that stays; it is
// missing while not all candidates are measured. A line of its trials has the hash of both plans,
// and what the case costs that fares worst. A joint line has the hash of all plans that got kernels
// of their own, that of the one that won, and what that costs as a part of what the first does.
//
// A product's line has the schedule (kernels/gemm/schedule_text.h) of one product in steps of so
// many rows, and what that costs as a part of the time as set by hand, where the schedule is all
// zeros and the cost 1. The line of attention has the places and the tasks of its schedule
// (AttendSchedule), and what decode's steps cost by it; those behind it what was tried. Another's
// line has what a product's has, of a product that no step has under the plan kept: of plans that
// were held against it. A step's line says what whole steps under all of them cost: decode of so
// many sequences, or a prompt of so many tokens.
//
// Sections may be missing, come once, and end with `end`; each is read by its own entry of a table
// in tuned_file.cc, so that others can be added.
//
// The file is hostile input. Errors (kFile): a text that is none, of another version, or longer
// than 1 MiB; a line that nobody knows, with its number.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cost/paired_trials.h"
#include "graph/schedule_table.h"
#include "kernels/processor_schedules.h"
#include "models/model_spec.h"
#include "plan/plan.h"
#include "topology/cpu_features.h"
#include "topology/machine.h"

namespace hearth {

inline constexpr size_t kMostTunedBytes = size_t{1} << 20;

// Names and values, each one line of text.
using TunedFields = std::vector<std::pair<std::string, std::string>>;

// All that a good choice depends on: processor, ISA level, topology, PUs that may be used, CPU
// quota, page size. What differs in one is another machine.
TunedFields machine_fields(const Machine& machine, Isa isa);
// Layers, heads and matrices as packed: fine-tunes of a model share them.
TunedFields model_fields(const ModelSpec& spec);
// 16 hexadecimal digits.
std::string fields_hash(const TunedFields& fields);
// "isa is avx2 there and avx512vnni here": the first field that differs; empty where none does.
std::string difference(const TunedFields& there, const TunedFields& here);

struct TunedPhase {
  Phase phase = Phase::kDecode;
  bool measured = false;
  TimeRatio cost;  // as a part of the default's
  uint32_t trials = 0;
  bool operator==(const TunedPhase&) const = default;
};

struct TunedTrial {
  Phase phase = Phase::kDecode;
  uint64_t plan = 0;  // plan_hash()
  TimeRatio cost;     // as a part of the default's
  bool operator==(const TunedTrial&) const = default;
};

// The number of rows up to which a step runs by decode's plan.
struct TunedThreshold {
  uint32_t rows = 0;
  TimeRatio cost;  // as a part of the default's
  uint32_t trials = 0;
  bool operator==(const TunedThreshold&) const = default;
};

struct ThresholdTrial {
  uint32_t rows = 0;
  uint64_t plans = 0;  // a hash of both phases'
  TimeRatio cost;      // as a part of the default's
  double dearest = 1;  // of the case that fares worst
  bool operator==(const ThresholdTrial&) const = default;
};

// The plan that is best with kernels of its own, among some.
struct TunedJoint {
  Phase phase = Phase::kDecode;
  uint64_t candidates = 0, plan = 0;  // a hash of all, plan_hash() of the best
  TimeRatio cost;                     // as a part of the first one's
  bool operator==(const TunedJoint&) const = default;
};

struct TunedProduct {
  ScheduleEntry entry;  // with the empty schedule where the default stays
  TimeRatio cost;       // as a part of the time as set by hand
  uint32_t trials = 0;
  bool operator==(const TunedProduct&) const = default;
};

struct TunedAttend {
  AttendSchedule schedule;  // the empty one where the default stays
  TimeRatio cost;           // of decode's steps, as a part of the default's
  uint32_t trials = 0;
  // The schedules that were compared with it, or that won: one place or number of tasks each.
  std::vector<AttendSchedule> tried;
  bool operator==(const TunedAttend&) const = default;
};

// Decode of so many sequences, or a prompt of so many tokens.
struct TunedStep {
  Phase phase = Phase::kDecode;
  uint32_t size = 0;
  TimeRatio cost;  // as a part of the default's
  uint32_t trials = 0;
  bool operator==(const TunedStep&) const = default;
};

struct Tuned {
  TunedFields machine, model;
  std::vector<TunedPhase> phases;
  std::vector<TunedTrial> trials;
  std::optional<TunedThreshold> threshold;
  std::vector<ThresholdTrial> threshold_trials;
  std::vector<TunedJoint> joints;
  std::string engine_plan;  // the text; empty: tuning is not done
  std::vector<TunedProduct> products;
  // Products of other plans: no step has them under the plan that is kept, and searches know them.
  std::vector<TunedProduct> others;
  std::optional<TunedAttend> attend;
  std::vector<TunedStep> steps;
  bool operator==(const Tuned&) const = default;
};

// All schedules of products that gain in some step, and of those the empty ones, too: they say
// where none gains.
ScheduleTable tuned_schedules(const Tuned& tuned);

// The same as far as whole steps of as many rows were timed: before that nobody knows what the
// schedules bring together, and products stay as set by hand there.
ScheduleTable timed_schedules(const Tuned& tuned);

// These as schedules of such a processor, in the form of those that are part of the program: of
// attention the places, and not its tasks. Throws (kUsage) where none gains.
ProcessorSchedules exported_schedules(const Tuned& tuned, const Processor& processor, Isa isa);

// Returns the product with this shape and number of rows, or null.
const TunedProduct* find_product(const std::vector<TunedProduct>& products,
                                 const ProductShape& shape, uint32_t most_rows);
// Makes those that are used `products` of all that are known, and the rest `others`.
void divide_products(Tuned* tuned, const std::function<bool(const ProductShape&)>& used);

// Keeps an engine's plan, as text; empty: none. Whole steps, and attention in them, were timed
// under the plan that was kept before, and are forgotten where this is another.
void keep_engine_plan(const std::string& text, Tuned* tuned);

// Returns a hash of the plan's text.
uint64_t plan_hash(const Plan& plan);

std::string tuned_text(const Tuned& tuned);
// `name` stands in errors. The engine's plan is not looked into.
Tuned parse_tuned(std::string_view text, const std::string& name);

}  // namespace hearth
