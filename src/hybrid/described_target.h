// The target of passes over a model that is not loaded: the model laid out as an engine would lay
// it out, with room for keys and values. Its places are in address space with no memory behind it.
// Passes over it are only timed (PassTarget::only_timed). So a model can be judged before it is
// fetched, and may be larger than this machine.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "hybrid/stream_plan.h"
#include "memory/arena.h"
#include "models/model.h"
#include "topology/machine.h"

namespace hearth {

class DescribedTarget {
 public:
  // The spec's tensors outlive this. Throws Error: kUnsupported where why_no_prefill() gives a
  // reason, kResource where the address space itself is short.
  DescribedTarget(ModelSpec spec, const Machine& machine, ModelPlacement placement, KvType kv_type,
                  uint32_t context);
  DescribedTarget(const DescribedTarget&) = delete;
  DescribedTarget& operator=(const DescribedTarget&) = delete;

  const PassTarget& target() const { return target_; }

 private:
  KvView kv_;
  std::vector<Arena> pages_;  // by shard
  PassTarget target_;
};

}  // namespace hearth
