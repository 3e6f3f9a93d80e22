// The results of tuning for one model shape on one machine, and the text file that keeps them:
//
//   hearth-tuned 1
//   machine cpu AMD EPYC 7H12 64-Core Processor
//   ...                                a line for each field of machine_fields()
//   model layers 28
//   ...                                a line for each field of model_fields()
//   section plans
//   lengths 256 64 512
//   anew
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
//   attend_confirmed 0.985 0.979 0.991 4 0
//   attend_tried 4 0
//   attend_tried 0 8
//   step decode 16 0.981 0.975 0.988 trials 20 confirmed
//   end
//
// Three numbers in a row are a cost: a time as a part of the default's, and the ends of its
// interval at 95 % confidence. They are 1 1 1 where the default stays.
//
//   lengths          how many positions a sequence has before a step of decode, and the lengths of
//                    prompts, for which the plans were measured; missing in files of earlier
//                    versions
//   anew             plans are being measured again: `phase`, `threshold` and `engine` are those of
//                    the earlier tuning
//   phase            the chosen plan's cost, whether it was measured or predicted, and the trials
//   trial            the measurement of one candidate, by the hash of its plan
//   threshold        up to how many rows a step uses the decode plan, and the cost; missing until
//                    all candidates are measured
//   threshold_trial  the hash of both phases' plans, the cost, and the highest cost of a case
//                    (dearest)
//   joint            the hash of all plans that were compared with kernels of their own, the hash
//                    of the plan that won, and its cost as a part of the first plan's
//   product          the schedule (kernels/gemm/schedule_text.h) of one product in steps of so many
//                    rows, and its cost; the schedule is all zeros where the default stays
//   other            the same for a product that no step has under the plan that is kept, but that
//                    steps have under plans that were compared with it
//   attend           the cost of decode's steps with an attention schedule (AttendSchedule), then
//                    its places and tasks; attend_tried lines have the schedules that were tried,
//                    and attend_confirmed has those values whose gain showed twice, with their cost
//   step             the cost of whole steps with all of these: decode of so many sequences, or a
//                    prompt of so many tokens
//
// A step is confirmed if it needs no second comparison any more: a second one showed its gain, or
// nothing gains.
//
// A section may be missing; if not, it comes once and ends with `end`. A table in tuned_file.cc has
// an entry for each section that reads it, so that more sections can be added.
//
// The file is untrusted input. Errors (kFile): a text that is no such file, of another version, or
// longer than 1 MiB; an unknown line, with its number.
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

inline constexpr size_t kMaxTunedBytes = size_t{1} << 20;

// Names and values, each one line of text.
using TunedFields = std::vector<std::pair<std::string, std::string>>;

// Returns all that a good choice depends on: processor, ISA level, topology, the PUs that may be
// used, CPU quota and page size. A machine counts as another one if any of these differs.
TunedFields machine_fields(const Machine& machine, Isa isa);
// Returns the model's layers, heads and matrices as they are packed. Fine-tuned versions of one
// model have the same fields.
TunedFields model_fields(const ModelSpec& spec);
// Returns a hash of the fields as 16 hexadecimal digits.
std::string fields_hash(const TunedFields& fields);
// Returns a text on the first field that differs, such as "isa is avx2 there and avx512vnni here";
// empty if no field does.
std::string difference(const TunedFields& there, const TunedFields& here);

struct TunedPhase {
  Phase phase = Phase::kDecode;
  bool measured = false;
  TimeRatio cost;  // as a part of the time by the default plan
  uint32_t trials = 0;
  bool operator==(const TunedPhase&) const = default;
};

struct TunedTrial {
  Phase phase = Phase::kDecode;
  uint64_t plan = 0;  // plan_hash()
  TimeRatio cost;     // as a part of the time by the default plan
  bool operator==(const TunedTrial&) const = default;
};

// The number of rows up to which a step runs by decode's plan.
struct TunedThreshold {
  uint32_t rows = 0;
  TimeRatio cost;  // as a part of the time by the plan's own threshold
  uint32_t trials = 0;
  bool operator==(const TunedThreshold&) const = default;
};

struct ThresholdTrial {
  uint32_t rows = 0;
  uint64_t plans = 0;  // a hash of both phases' plans
  TimeRatio cost;      // as a part of the time by the plan's own threshold
  double dearest = 1;  // the highest cost of a case
  bool operator==(const ThresholdTrial&) const = default;
};

// The plan that is best of some candidates when each has kernels of its own.
struct TunedJoint {
  Phase phase = Phase::kDecode;
  uint64_t candidates = 0, plan = 0;  // a hash of all candidates, plan_hash() of the best
  TimeRatio cost;                     // as a part of the time by the first candidate
  bool operator==(const TunedJoint&) const = default;
};

struct TunedProduct {
  ScheduleEntry entry;  // its schedule is empty where the default stays
  TimeRatio cost;       // as a part of the time by the default schedule
  uint32_t trials = 0;
  bool operator==(const TunedProduct&) const = default;
};

// An attention schedule whose gain showed in a second comparison, too.
struct ConfirmedAttend {
  AttendSchedule schedule;
  TimeRatio cost;  // of decode's steps, as a part of their time by the default
  bool operator==(const ConfirmedAttend&) const = default;
};

struct TunedAttend {
  AttendSchedule schedule;  // empty where the default stays
  TimeRatio cost;           // of decode's steps, as a part of their time by the default
  uint32_t trials = 0;
  // All schedules that were compared, also those that were taken. Each sets either the places or
  // the tasks.
  std::vector<AttendSchedule> tried;
  ConfirmedAttend confirmed = {};  // the same schedule, or one without those values that came later
  bool operator==(const TunedAttend&) const = default;
};

// The cost of whole steps: decode of so many sequences, or a prompt of so many tokens.
struct TunedStep {
  Phase phase = Phase::kDecode;
  uint32_t size = 0;
  TimeRatio cost;  // as a part of the time by default schedules
  uint32_t trials = 0;
  bool confirmed = false;
  bool operator==(const TunedStep&) const = default;
};

struct Tuned {
  TunedFields machine, model;
  // The depth of decode and the lengths of prompts for which the plans were measured; empty: not
  // known.
  std::vector<uint32_t> lengths;
  bool anew = false;  // plans are being measured again, and the earlier ones are still used
  std::vector<TunedPhase> phases;
  std::vector<TunedTrial> trials;
  std::optional<TunedThreshold> threshold;
  std::vector<ThresholdTrial> threshold_trials;
  std::vector<TunedJoint> joints;
  std::string engine_plan;  // its text; empty: tuning is not finished
  std::vector<TunedProduct> products;
  // Products that steps have under other plans, but not under the plan that is kept. Searches use
  // their results.
  std::vector<TunedProduct> others;
  std::optional<TunedAttend> attend;
  std::vector<TunedStep> steps;
  bool operator==(const Tuned&) const = default;
};

// Returns the schedules of all products that gain for some number of rows. For such products it
// also has empty schedules, which mark the numbers of rows for which no schedule gains.
ScheduleTable tuned_schedules(const Tuned& tuned);

// Returns those of tuned_schedules() for numbers of rows whose whole steps were timed. For other
// rows products keep their defaults, since the schedules' joint effect is not known there.
ScheduleTable timed_schedules(const Tuned& tuned);

// Returns the schedules for this processor, in the form of those that the program contains. They
// include attention's places, but not its tasks. Throws (kUsage) where no schedule gains.
ProcessorSchedules exported_schedules(const Tuned& tuned, const Processor& processor, Isa isa);

// Returns the product with this shape and number of rows, or null.
const TunedProduct* find_product(const std::vector<TunedProduct>& products,
                                 const ProductShape& shape, uint32_t max_rows);
// Divides all known products anew: `products` becomes those for which `used` is true, and `others`
// becomes the rest.
void divide_products(Tuned* tuned, const std::function<bool(const ProductShape&)>& used);

// Keeps the text of an engine's plan; empty: none. If another plan was kept, this drops the results
// of whole steps and of attention, since they were timed under that plan.
void keep_engine_plan(const std::string& text, Tuned* tuned);

// Returns a hash of the plan's text.
uint64_t plan_hash(const Plan& plan);

std::string tuned_text(const Tuned& tuned);
// Reads a file's text; `name` stands in errors. The engine's plan is not checked.
Tuned parse_tuned(std::string_view text, const std::string& name);

}  // namespace hearth
