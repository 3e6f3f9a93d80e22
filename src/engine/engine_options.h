// EngineOptions: what is asked of an engine.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/engine_plan.h"
#include "graph/expand_rule.h"
#include "graph/schedule_table.h"
#include "kernels/attention/attention.h"
#include "memory/arena.h"
#include "models/axis_cutting.h"
#include "models/model_spec.h"
#include "plan/plan.h"

namespace hearth {

// Says when start_engine() uses the stored results of `hearth tune` (engine/tuned_plan.h).
enum class TunedUse : uint8_t {
  kNever,
  kWhereOpen,  // nothing else says who works where
  kWhole,      // also in place of `threads`, `nodes` and `pus`, which stand for the whole machine
};

struct EngineOptions {
  // The plan, which says all about who works where; none: one is made from the other options.
  std::optional<EnginePlan> plan;
  TunedUse tuned = TunedUse::kWhereOpen;
  uint32_t threads = 0;         // 0: default_thread_count()
  std::vector<uint32_t> nodes;  // machine nodes that threads may sit on; empty: all
  std::vector<uint32_t> pus;    // and PUs, by the operating system's numbers; empty: all allowed
  uint32_t shards = 0;          // nodes the weights are cut over; 0: all that have threads
  uint32_t prefill_groups = 0;  // 0: as many as shards
  uint32_t decode_groups = 0;
  GroupSync sync = GroupSync::kAsync;  // of both phases
  // How experts lie on several shards; none: as the cost model says is faster (cost/cost_model.h).
  std::optional<ExpertCut> experts;
  // Whether weights and KV pages are interleaved over all nodes, page by page, instead of placed
  // beside their threads, to measure what placing them is worth.
  bool interleave = false;
  Binding binding() const { return interleave ? Binding::kInterleaved : Binding::kNode; }

  // Positions per sequence; 0: the model's, at most kDefaultContext, or, where kv_bytes or kv_share
  // is given, the model's or as many as these hold.
  uint32_t context = 0;
  // The length that the context may be lowered to where the KV pages hold no more; 0: it may not
  // be.
  uint32_t least_context = 0;
  // KV pages, at least enough for one full context. The first that is not 0 decides: a number of
  // pages; as many as these bytes hold; as many as this share holds of the memory that everything
  // else leaves, up to `sequences` full contexts, and one at least. Else there are pages for so
  // many, or as many as there is memory for. Settled, kv_pages says how many there are.
  uint32_t kv_pages = 0;
  uint64_t kv_bytes = 0;
  double kv_share = 0;  // 0 to 1
  bool asks_kv_size() const { return kv_pages == 0 && (kv_bytes != 0 || kv_share > 0); }
  uint32_t sequences = 1;
  // Whether layers that see a window, where others see all positions, give back pages behind it;
  // false keeps all positions, to measure what giving back is worth.
  bool gives_back = true;
  // Pages of these layers, enough for a step of one sequence at least; 0: for a step of all of
  // `sequences`, and of kv_bytes or kv_share for windows that are kept, too, up to half of the
  // bytes. Never more than there are KV pages. Settled, it says how many there are.
  uint32_t window_pages = 0;
  KvType kv_type = KvType::kF16;

  // How many states are kept for texts that begin alike (engine/state_pool.h), where layers keep
  // states, beside one for each of `sequences`: kept_states of them. Where that is 0, as many as
  // state_bytes hold. Where both are 0, as many as fit in state_share of the memory that is left
  // without KV pages, at most kMostSharedStates for each of `sequences`. Settled, kept_states has
  // their number.
  uint32_t kept_states = 0;
  uint64_t state_bytes = 0;
  double state_share = 0;  // 0 to 1

  ExpandRule expand;

  // How products are computed. Products that it does not name use the default schedules. Results
  // are the same to the bit.
  ScheduleTable schedules;

  uint32_t prefill_rows = 512;  // tokens a step may have
  uint32_t decode_rows = 16;    // up to this many the decode plan works
  uint32_t outputs = 16;        // rows of logits a step may want
  uint32_t hidden_rows = 64;    // rows of hidden states a step may want
  // Rows that tokens of a prompt are scored by, at a time (Engine::score()); 0: none ever are.
  uint32_t scored_rows = 0;
  uint32_t items = 64;  // sequences a step may have, of a model without a KV cache
};

inline constexpr uint32_t kDefaultContext = 4096;
// The kv_share of a server: whatever it leaves free is also what others on the machine have left.
inline constexpr double kServingKvShare = 0.25;
// The state_share of a server.
inline constexpr double kServingStateShare = 0.125;
// The most kept states for each of `sequences` that state_share comes to: no conversation has use
// for many more.
inline constexpr uint32_t kMostSharedStates = 8;

// Replaces zeros by defaults and throws (kUsage) for what cannot be.
void settle_options(const ModelSpec& spec, EngineOptions* options);

}  // namespace hearth
