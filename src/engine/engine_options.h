// EngineOptions: what is asked of an engine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/attention/attention.h"
#include "memory/arena.h"
#include "models/model_spec.h"
#include "plan/plan.h"

namespace hearth {

struct EngineOptions {
  // Who works where (engine_plan.h). `plan` is the text of a saved plan, which then says all of it;
  // empty: one is made from the others.
  std::string plan;
  uint32_t threads = 0;         // 0: default_thread_count()
  std::vector<uint32_t> nodes;  // machine nodes that threads may sit on; empty: all
  std::vector<uint32_t> pus;    // and PUs, by the operating system's numbers; empty: all allowed
  uint32_t shards = 0;          // nodes the weights are cut over; 0: all that have threads
  uint32_t prefill_groups = 0;  // 0: as many as shards
  uint32_t decode_groups = 0;
  GroupSync sync = GroupSync::kAsync;  // of both phases
  // Weights and KV pages lie on all nodes in turn, page by page, instead of beside their threads:
  // to measure what placing them is worth.
  bool interleave = false;
  Binding binding() const { return interleave ? Binding::kInterleaved : Binding::kNode; }

  uint32_t context = 0;  // positions per sequence; 0: the model's, at most kDefaultContext
  // KV pages, at least enough for one full context; 0: for `sequences` full contexts, or as many
  // pages as there is memory for.
  uint32_t kv_pages = 0;
  uint32_t sequences = 1;
  KvType kv_type = KvType::kF16;

  uint32_t prefill_rows = 512;  // tokens a step may have
  uint32_t decode_rows = 16;    // up to this many the decode plan works
  uint32_t outputs = 16;        // rows of logits a step may want
  uint32_t hidden_rows = 64;    // rows of hidden states a step may want
  uint32_t items = 64;          // sequences a step may have, of a model without a KV cache
};

inline constexpr uint32_t kDefaultContext = 4096;

// Replaces zeros by defaults and throws (kUsage) for what cannot be.
void settle_options(const ModelSpec& spec, EngineOptions* options);

}  // namespace hearth
