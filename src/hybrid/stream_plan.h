// Plans how a model is streamed through an accelerator: the rows of a pass, the layers that stay
// there for good, the berths for all other layers, and a ring of berths for those layers' experts.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "accelerator/accelerator.h"
#include "graph/expand_rule.h"
#include "graph/step_view.h"
#include "hybrid/streamed_weights.h"
#include "models/model.h"

namespace hearth {

// The parts of an engine that passes fill or read.
struct PassTarget {
  std::shared_ptr<const Model> model;
  const KvView* kv = nullptr;  // outlives all passes
  // The memory of each shard's KV pages. It has whole pages of the operating system.
  std::vector<std::span<std::byte>> kv_memory;
  uint32_t context = 0;
  ExpandRule expand = {};  // for a model with latents
  // Whether weights and pages have places but no bytes. Passes then make the same commands and
  // write zeros, for an accelerator that only tells how long they take (TimedAccelerator).
  bool only_timed = false;
};

struct StreamPlan {
  uint32_t rows = 0;    // tokens of a pass
  uint32_t pages = 0;   // the most KV pages of a pass's texts
  uint32_t kept = 0;    // how many of the first layers are kept
  uint32_t berths = 0;  // for the other layers; 0: all layers are kept
  // berth_bytes is the size of one berth.
  uint64_t pass_bytes = 0, kept_bytes = 0, berth_bytes = 0;
  uint64_t page_bytes = 0;  // the part of pass_bytes for KV pages
  uint64_t min_piece = 0;   // the longest buffer: for a value, the pages or a berth
  // If memory has room for twice as many rows, but they would need a longer buffer than the
  // accelerator allows: the bytes of that buffer. Else 0.
  uint64_t no_piece = 0;
  // The ring: how many berths it has, and how many experts are copied at once. A berth takes what
  // one shard has of one expert. 0: all experts are kept, or the model has none.
  uint32_t experts = 0, expert_batch = 0;
  uint64_t expert_bytes = 0;  // of one berth
  uint32_t kept_batch = 0;    // the most experts that kept layers multiply at once
  // Whether passes of fewer rows have a longer ring, since their values leave memory for it.
  bool ring_grows = false;

  // Returns how many bytes on the accelerator are for the layers and experts that are not kept.
  uint64_t bytes_in_flight() const { return berths * berth_bytes + experts * expert_bytes; }
  uint64_t bytes() const { return pass_bytes + kept_bytes + bytes_in_flight(); }
  bool operator==(const StreamPlan&) const = default;
};

// Returns the room that passes of this plan have for weights on the accelerator.
StreamedRoom room_of(const StreamPlan& plan);

// The part of a plan that an engine's plan stores, as its third part (engine/engine_plan.h).
struct StreamChoice {
  uint32_t rows = 0, kept = 0, berths = 0;  // as in StreamPlan; 0 berths: no streaming
  uint32_t threshold = 0;  // streams prompts of this many tokens or more; 0: if faster
  uint32_t experts = 0;    // as in StreamPlan; 0: plan_stream() chooses

  bool operator==(const StreamChoice&) const = default;
};

struct StreamPlanOptions {
  uint32_t rows = 0;             // 0: as many as fit, kUsualPassRows at most
  uint64_t memory = 0;           // bytes; 0: nine tenths of the accelerator's free memory
  std::optional<uint32_t> kept;  // none: as many layers as fit
  // How many berths the layers that are not kept take in turn, at most one for each. 0: two, or
  // three for a model with experts.
  uint32_t berths = 0;
  // How many berths the ring has, at most one for each expert of the layers that are not kept.
  // None: as many as a layer has experts, or fewer where memory is short.
  std::optional<uint32_t> experts = {};
  bool ring_grows = true;  // as in StreamPlan
  bool operator==(const StreamPlanOptions&) const = default;
};

inline constexpr uint32_t kMinPassRows = 64, kMaxPassRows = 65536;
inline constexpr uint32_t kMaxBerths = 1024;
inline constexpr uint32_t kMinRing = 2, kMaxRing = 65536;
// The most rows that plan_stream() chooses by itself. With more rows, a small GPU may need more
// than 20 s for a layer of a large model, and then count as lost. plan_stream_by_time() chooses
// more rows where predictions stay far below that.
inline constexpr uint32_t kUsualPassRows = 8192;

// Plans a model's passes. Memory goes first to berths and a ring of two, then to rows, then to a
// longer ring, and then to kept layers. Values may lie in several buffers, so only one long value,
// or the pages, can exceed the longest buffer; then there are fewer rows. Throws Error: kResource
// where the berths and 64 rows do not fit, kUsage where the options do not fit. The message has the
// needed and the free bytes.
StreamPlan plan_stream(const PassTarget& target, const AcceleratorFacts& facts,
                       const StreamPlanOptions& options);

// The calls that a pass makes: products of these pack kinds, and the other contracts by their names
// (contract_name()).
struct PassKernels {
  std::vector<PackKind> kinds;
  std::vector<std::string> contracts;
};
PassKernels pass_kernels(const PassTarget& target);

// Returns "passes of 8192 rows, 12 of 80 layers kept, 2 berths of 450 MiB for the others, 9.1 GiB
// in all". For a model with experts it is "..., 3 berths of 60 MiB for the others, a ring of 64
// experts of 18 MiB, longer for fewer rows, ...".
std::string stream_plan_text(const StreamPlan& plan, uint32_t layers);

}  // namespace hearth
