// How a model is streamed through an accelerator: rows of a pass, layers that are kept there for
// good, berths for the others, and a ring of berths for their experts.
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
  // The memory of each shard that its pages lie in, whole pages of the operating system.
  std::vector<std::span<std::byte>> kv_memory;
  uint32_t context = 0;
  ExpandRule expand = {};  // of a model with latents
  // Nothing of it is there but its places, or nothing shall be read: passes make the same lists and
  // give their accelerator zeros, for one that only tells what time it takes (TimedAccelerator).
  bool only_timed = false;
};

struct StreamPlan {
  uint32_t rows = 0;                                         // tokens of a pass
  uint32_t pages = 0;                                        // of a pass's texts
  uint32_t kept = 0;                                         // layers, the first ones
  uint32_t berths = 0;                                       // for the others; 0: there are none
  uint64_t pass_bytes = 0, kept_bytes = 0, berth_bytes = 0;  // of one berth
  uint64_t page_bytes = 0;                                   // of pass_bytes, those of pages
  uint64_t least_piece = 0;  // the longest of what must lie in one buffer: a value, pages, a berth
  // The bytes of the one buffer that twice as many rows would need, where memory has room for them
  // and no buffer may be that long; else 0.
  uint64_t no_piece = 0;
  // The ring, of berths for what a shard has of an expert each, and how many of these are copied at
  // once; 0: there are no experts that are not kept.
  uint32_t experts = 0, expert_batch = 0;
  uint64_t expert_bytes = 0;  // of one berth
  uint32_t kept_batch = 0;    // experts of layers that are kept that are multiplied at once

  // Returns the bytes on the accelerator for layers and experts that are not kept.
  uint64_t bytes_in_flight() const { return berths * berth_bytes + experts * expert_bytes; }
  uint64_t bytes() const { return pass_bytes + kept_bytes + bytes_in_flight(); }
  bool operator==(const StreamPlan&) const = default;
};

// The weights that such passes have on the accelerator at a time.
StreamedRoom room_of(const StreamPlan& plan);

// The part of a plan that is stored for later, as the third part of an engine's
// (engine/engine_plan.h).
struct StreamChoice {
  uint32_t rows = 0, kept = 0, berths = 0;  // as in StreamPlan; berths of 0: nothing is streamed
  uint32_t threshold = 0;  // tokens from which on a prompt is streamed; 0: where it ends sooner
  uint32_t experts = 0;    // of the ring, as in StreamPlan; 0: it says nothing of one

  bool operator==(const StreamChoice&) const = default;
};

struct StreamPlanOptions {
  uint32_t rows = 0;             // 0: as many as there is room for, kUsualPassRows at most
  uint64_t memory = 0;           // bytes; 0: nine tenths of what the accelerator has free
  std::optional<uint32_t> kept;  // none: as many layers as there is room for
  // The berths for layers that are not kept, at most as many as there are such layers; 0: two, or
  // three for a model with experts.
  uint32_t berths = 0;
  // The berths of the ring, at most as many as layers that are not kept have experts in all; none:
  // as many as a layer has, or fewer where there is less room.
  std::optional<uint32_t> experts = {};
  bool operator==(const StreamPlanOptions&) const = default;
};

inline constexpr uint32_t kLeastPassRows = 64, kMostPassRows = 65536;
inline constexpr uint32_t kMostBerths = 1024;
inline constexpr uint32_t kLeastRing = 2, kMostRing = 65536;
// A pass with more rows may take a small GPU longer for a layer of a large model than the 20 s
// after which it counts as lost.
inline constexpr uint32_t kUsualPassRows = 8192;

// Memory goes to berths and a ring of two first, then to rows, then to a longer ring, then to
// layers that stay. Values take as many buffers as their lengths ask for, so that rows are cut only
// where a single one, or the pages, are longer than a buffer may be. Throws Error with both
// figures: kResource where the berths and 64 rows do not fit, kUsage where what is asked for does
// not.
StreamPlan plan_stream(const PassTarget& target, const AcceleratorFacts& facts,
                       const StreamPlanOptions& options);

// The calls of a pass: kinds of products, and the other contracts (contract_name()).
struct PassKernels {
  std::vector<PackKind> kinds;
  std::vector<std::string> contracts;
};
PassKernels pass_kernels(const PassTarget& target);

// "passes of 8192 rows, 12 of 80 layers kept, 2 berths of 450 MiB for the others, 9.1 GiB in all";
// of a model with experts "..., 3 berths of 60 MiB for the others, a ring of 64 experts of 18 MiB,
// ...".
std::string stream_plan_text(const StreamPlan& plan, uint32_t layers);

}  // namespace hearth
