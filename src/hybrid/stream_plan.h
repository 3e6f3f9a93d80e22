// Plans how a model is streamed through an accelerator: the rows of a pass, the layers that are
// kept there for good, the berths for the others, and a ring of berths for their experts.
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
  // The memory of each shard's KV pages, whole pages of the operating system.
  std::vector<std::span<std::byte>> kv_memory;
  uint32_t context = 0;
  ExpandRule expand = {};  // for a model with latents
  // Whether weights and pages have places but no bytes that may be read. Passes then make the same
  // lists and write zeros, for an accelerator that only tells the time they take
  // (TimedAccelerator).
  bool only_timed = false;
};

struct StreamPlan {
  uint32_t rows = 0;    // tokens of a pass
  uint32_t pages = 0;   // the most KV pages of a pass's texts
  uint32_t kept = 0;    // the number of first layers that are kept
  uint32_t berths = 0;  // for the other layers; 0: all layers are kept
  // berth_bytes is the size of one berth.
  uint64_t pass_bytes = 0, kept_bytes = 0, berth_bytes = 0;
  uint64_t page_bytes = 0;  // the part of pass_bytes that KV pages take
  uint64_t min_piece = 0;   // length of the longest value, pages or berth: each needs one buffer
  // The bytes of the one buffer that twice as many rows would need, where memory has room for them
  // but a buffer may not be that long; else 0.
  uint64_t no_piece = 0;
  // The ring: how many berths it has, each for one shard's bytes of an expert, and how many experts
  // are copied at once. 0: all experts are kept, or there are none.
  uint32_t experts = 0, expert_batch = 0;
  uint64_t expert_bytes = 0;  // of one berth
  uint32_t kept_batch = 0;    // the most experts of a kept layer that are multiplied at once
  // Whether a pass of fewer rows has a longer ring, in the memory that its values leave.
  bool ring_grows = false;

  // Returns the bytes on the accelerator for layers and experts that are not kept.
  uint64_t bytes_in_flight() const { return berths * berth_bytes + experts * expert_bytes; }
  uint64_t bytes() const { return pass_bytes + kept_bytes + bytes_in_flight(); }
  bool operator==(const StreamPlan&) const = default;
};

// Returns the weights that passes of this plan have on the accelerator at a time.
StreamedRoom room_of(const StreamPlan& plan);

// The part of a plan that is stored for later. It is the third part of an engine's plan
// (engine/engine_plan.h).
struct StreamChoice {
  uint32_t rows = 0, kept = 0, berths = 0;  // as in StreamPlan; berths of 0: nothing is streamed
  uint32_t threshold = 0;  // streams prompts of this many tokens or more; 0: if faster
  uint32_t experts = 0;    // as in StreamPlan; 0: left open

  bool operator==(const StreamChoice&) const = default;
};

struct StreamPlanOptions {
  uint32_t rows = 0;             // 0: as many as fit, kUsualPassRows at most
  uint64_t memory = 0;           // bytes; 0: nine tenths of the accelerator's free memory
  std::optional<uint32_t> kept;  // none: as many layers as fit
  // The number of berths for layers that are not kept, at most as many as there are such layers; 0:
  // two, or three for a model with experts.
  uint32_t berths = 0;
  // The number of berths of the ring, at most the number of all experts of layers that are not
  // kept. None: as many as a layer has experts, or fewer where memory is short.
  std::optional<uint32_t> experts = {};
  bool ring_grows = true;  // as in StreamPlan
  bool operator==(const StreamPlanOptions&) const = default;
};

inline constexpr uint32_t kMinPassRows = 64, kMaxPassRows = 65536;
inline constexpr uint32_t kMaxBerths = 1024;
inline constexpr uint32_t kMinRing = 2, kMaxRing = 65536;
// A pass with more rows may take a small GPU longer for a layer of a large model than the 20 s
// after which it counts as lost. plan_stream_by_time() takes more rows where the predicted times
// stay far below that.
inline constexpr uint32_t kUsualPassRows = 8192;

// Plans a model's passes. Memory goes to berths and a ring of two first, then to rows, then to a
// longer ring, then to kept layers. Values take as many buffers as their lengths ask for. So rows
// are reduced only where one value, or the pages, would be longer than a buffer may be. Throws
// Error: kResource where the berths and 64 rows do not fit, kUsage where the options do not fit;
// the message has the needed and the free bytes.
StreamPlan plan_stream(const PassTarget& target, const AcceleratorFacts& facts,
                       const StreamPlanOptions& options);

// The calls that a pass makes: the pack kinds of its products, and the names of its other contracts
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
