// The target of passes over a model that is not loaded. The model is laid out as an engine would do
// it, with room for keys and values. But its places are address space without memory. So passes
// over it are only timed (PassTarget::only_timed). This allows to judge a model before its files
// are fetched, even one that is larger than this machine.
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
  // The spec's tensors must outlive this object. Throws Error: kUnsupported where why_no_prefill()
  // gives a reason, kResource where the address space is too small.
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
