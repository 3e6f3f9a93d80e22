// A model that nobody loads, as an engine would lay it out, with room for keys and values: places
// in address space that no memory stands behind. Passes over it are only timed
// (PassTarget::only_timed), so that a model may be judged before it was fetched, and larger than
// this machine.
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
  // The spec's tensors outlive this. Throws Error: kUnsupported where why_no_prefill() says so,
  // kResource where not even the address space is there.
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
