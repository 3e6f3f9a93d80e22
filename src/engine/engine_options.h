// EngineOptions: the options of an engine.
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
  kWhereOpen,  // if no other option places threads
  kWhole,      // also if `threads`, `nodes` and `pus` are set: together they mean the whole machine
};

struct EngineOptions {
  // The plan, which settles where threads sit and what they work on; none: it is made from the
  // other options.
  std::optional<EnginePlan> plan;
  TunedUse tuned = TunedUse::kWhereOpen;
  uint32_t threads = 0;         // 0: default_thread_count()
  std::vector<uint32_t> nodes;  // machine nodes that threads may sit on; empty: all
  // PUs that threads may sit on, by the operating system's numbers; empty: all allowed ones.
  std::vector<uint32_t> pus;
  uint32_t shards = 0;          // nodes the weights are cut over; 0: all that have threads
  uint32_t prefill_groups = 0;  // 0: as many as shards
  uint32_t decode_groups = 0;
  GroupSync sync = GroupSync::kAsync;  // how groups wait for each other, in both phases
  // How experts lie on several shards; none: in the faster way by the cost model
  // (cost/cost_model.h).
  std::optional<ExpertCut> experts;
  // Whether weights and KV pages are interleaved over all nodes, page by page, and not placed
  // beside their threads. This is for measuring the gain of placing them.
  bool interleave = false;
  Binding binding() const { return interleave ? Binding::kInterleaved : Binding::kNode; }

  // Positions per sequence; 0: the model's context, at most kDefaultContext. With kv_bytes or
  // kv_share it is the model's, or as many positions as these hold.
  uint32_t context = 0;
  // The length to which the context may be lowered if the KV pages hold no more; 0: it may not be
  // lowered.
  uint32_t min_context = 0;
  // KV pages, at least enough for one full context. The first of these that is not 0 decides:
  // kv_pages, their number; kv_bytes, the bytes that they may take; kv_share, their share of the
  // memory that everything else leaves, up to `sequences` full contexts and at least one. With none
  // of these there are pages for `sequences` full contexts, or as many as memory holds. In an
  // engine's options kv_pages is the number.
  uint32_t kv_pages = 0;
  uint64_t kv_bytes = 0;
  double kv_share = 0;  // 0 to 1
  bool asks_kv_size() const { return kv_pages == 0 && (kv_bytes != 0 || kv_share > 0); }
  uint32_t sequences = 1;
  // Whether layers with a window give back pages behind it, in models whose other layers see all
  // positions. false keeps all positions, to measure the gain of giving back.
  bool gives_back = true;
  // Window pages, at least enough for a step of one sequence; 0: enough for a step of all of
  // `sequences`. With kv_bytes or kv_share there are more, for windows that are kept, up to half of
  // the bytes. There are never more window pages than KV pages. In an engine's options this is the
  // number.
  uint32_t window_pages = 0;
  KvType kv_type = KvType::kF16;

  // These say how many states are kept for texts that begin alike (engine/state_pool.h), in models
  // with layers that keep states. They come on top of one state for each of `sequences`. The first
  // of these that is not 0 decides: kept_states, their number; state_bytes, the bytes that they may
  // take; state_share, their share of the memory that is left by all but KV pages, up to
  // kMaxSharedStates for each of `sequences`. In an engine's options kept_states is their number.
  uint32_t kept_states = 0;
  uint64_t state_bytes = 0;
  double state_share = 0;  // 0 to 1

  ExpandRule expand;

  // Schedules of products. A product without one uses the default. Results are the same to the bit.
  ScheduleTable schedules;

  uint32_t prefill_rows = 512;  // tokens a step may have
  uint32_t decode_rows = 16;    // most rows of a step under the decode plan
  uint32_t outputs = 16;        // rows of logits a step may want
  uint32_t hidden_rows = 64;    // rows of hidden states a step may want
  // Rows by which tokens of a prompt are scored at a time (Engine::score()); 0: none are ever
  // scored.
  uint32_t scored_rows = 0;
  uint32_t items = 64;  // most sequences of a step, for models without a KV cache
};

inline constexpr uint32_t kDefaultContext = 4096;
// The kv_share of a server: it is low, since other programs on the machine have only the memory
// that stays free.
inline constexpr double kServingKvShare = 0.25;
// The state_share of a server.
inline constexpr double kServingStateShare = 0.125;
// The most kept states for each of `sequences` if state_share decides; a conversation has no use
// for many more.
inline constexpr uint32_t kMaxSharedStates = 8;

// Replaces zeros by defaults. Throws Error (kUsage) for impossible options.
void settle_options(const ModelSpec& spec, EngineOptions* options);

}  // namespace hearth
