// The report of `hearth bench` in three forms. Markdown is for people (tables, aligned to be read
// as they stand), CSV for spreadsheets (RFC 4180; a cell without a value is empty), JSON for
// programs (one object on one line). docs/bench.md says what every figure means. GB and GOPS are
// powers of ten.
//
// Each form has a file of its own, report_FORM.cc. Kernels, loads and profiles bring all their
// forms along: kernel_report.h, load_report.h, profile_report.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/arrival.h"
#include "bench/cpu_times.h"
#include "bench/figures.h"
#include "bench/kernel_bench.h"
#include "bench/load_bench.h"
#include "engine/engine.h"
#include "topology/cpu_features.h"

namespace hearth {

// The engine's plan as a report shows it (engine/engine_plan.h).
struct BenchPlan {
  uint32_t shards = 1, prefill_groups = 1, decode_groups = 1;
  GroupSync sync = GroupSync::kAsync;
  bool interleaved = false;

  uint32_t groups(Phase phase) const {
    return phase == Phase::kPrefill ? prefill_groups : decode_groups;
  }
};

// The results of one load of the model: cases, or loads themselves. A team without an engine has
// products of the model's matrices or, without a model, only the limits.
struct BenchRun {
  uint32_t threads = 0;
  BenchPlan plan;
  uint32_t context = 0;                           // positions of a sequence
  MemoryUse memory;                               // of the engine
  ArithmeticUnit unit = ArithmeticUnit::kF32Fma;  // of the model at this level
  ReadBufferInfo buffer;
  std::vector<LevelLimits> limits;  // with a model: only of its level
  std::vector<CaseResult> results;
  std::vector<ArrivalResult> arrivals;
  std::vector<KernelResult> kernels;  // of Measured::kKernels: no engine ran; no other results
  std::optional<LoadResult> loads;    // of Measured::kLoads; at least one repetition, and no limits

  // Only runs with a model use this, since they have one level.
  const LimitSample& best() const { return limits[0].best; }
};

struct BenchModel {
  std::string file, architecture, name;
  std::string stored_type;  // the type of most of its bytes: "q8_0"
  std::string made_type;    // the type that a policy quantises weights to; empty: as stored
  uint64_t parameters = 0, file_bytes = 0;

  // Returns the types as text, such as "bf16 as q4_k".
  std::string type() const {
    return made_type.empty() ? stored_type : stored_type + " as " + made_type;
  }
};

// Says which side of the model was measured.
enum class Measured : uint8_t { kSteps, kKernels, kLoads };

struct BenchReport {
  std::string version, time;  // this program's version; the start of the run, UTC
  std::string cpu;
  std::optional<BenchModel> model;  // none: only limits were measured
  Measured measured = Measured::kSteps;
  Isa isa = Isa::kReference;  // with a model: the level it ran at
  std::string kv_type;
  uint32_t repetitions = 0;
  std::vector<std::string> contenders;  // other programs whose kernels may have been measured
  std::vector<BenchRun> runs;
  std::optional<CpuShares> shares;  // of CPU time during the run; none: unknown
  bool interrupted = false;
  std::vector<std::string> notes;
};

std::string markdown(const BenchReport& report);
std::string csv(const BenchReport& report);
std::string json(const BenchReport& report);

}  // namespace hearth
