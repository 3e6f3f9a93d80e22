// EngineMemory: the memory of one engine besides its model's weights, on the nodes of its shards,
// and the places of all parts. It is allocated at once, except PlanMemory, which depends on the
// plans: an engine that takes other plans gets another one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/engine_layout.h"
#include "engine/lane.h"
#include "memory/arena.h"

namespace hearth {

// A piece of the engine's memory and where it was asked to lie.
enum class MemoryKind : uint8_t { kWeights, kKv, kStates, kActivations, kScratch, kLogits };
const char* memory_kind_name(MemoryKind kind);
struct MemoryRegion {
  MemoryKind kind;
  uint32_t shard;  // the shard whose node it is for
  uint32_t node;   // index in Machine of that node, or of the nearest one with memory
  const std::byte* address;
  size_t bytes;
};

// The memory of a node, and the threads that work there.
struct NodeMemory {
  uint32_t node = 0;  // index of Machine
  size_t weights = 0, kv = 0, states = 0;
  size_t others = 0;  // activations, scratch, flags, logits
  size_t huge = 0;    // bytes that the kernel put in huge pages; 0: not known
  uint32_t threads = 0;
};

// The memory that depends on the plans of the phases: activations of every group, and the words
// that threads wait on. Its size is EngineLayout's activation_bytes and sync_bytes, each shard's
// rounded up as arenas are.
class PlanMemory {
 public:
  PlanMemory(const Machine& machine, const EngineLayout& layout);

  const ContextMemory& prefill() const { return prefill_; }
  const ContextMemory& decode() const { return decode_; }
  const std::vector<Arena>& arenas() const { return arenas_; }
  const std::vector<MemoryRegion>& regions() const { return regions_; }

 private:
  void divide_sync(const EngineLayout& layout, uint32_t shard, std::byte* base);
  void divide_activations(const EngineLayout& layout, const std::vector<std::byte*>& bases);

  std::vector<Arena> arenas_;  // by shard
  std::vector<MemoryRegion> regions_;
  ContextMemory prefill_, decode_;
};

class EngineMemory {
 public:
  EngineMemory(const Machine& machine, const EngineLayout& layout, const Model& model);

  // Return the layout's views of KV pages and states, with memory.
  const KvView& kv() const { return kv_; }
  const StateView& states() const { return states_; }
  // Returns, by shard, the memory that its KV pages lie in, as whole 4 KiB or huge pages.
  std::vector<std::span<std::byte>> kv_memory() const;
  // Returns the plans' memory that is in use.
  LaneMemory lane() const { return lane_with(*plan_memory_); }
  LaneMemory lane_with(const PlanMemory& plans) const {
    return {scratch_, plans.prefill(), plans.decode()};
  }
  // Replaces the plans' memory in use, which is freed.
  void replace(std::unique_ptr<PlanMemory> plans);
  // Returns a shard's memory for logits, StepLogits::bytes() of it.
  std::byte* logits(uint32_t shard) const { return logits_[shard]; }
  // [hidden rows][width].
  float* hidden() const { return hidden_; }

  // Returns the regions of all memory, the model's weights included, with every byte in one of
  // them: a region for each kind and shard, scratch for each thread. With EngineOptions::interleave
  // weights and KV pages lie on all nodes. Two kinds of memory are missing. Graphs lie on the heap
  // of one of each group's threads. Pages of files lie on the node of the thread that first touched
  // them.
  const std::vector<MemoryRegion>& regions() const { return regions_; }
  // Returns the regions by nodes, for nodes with memory or threads, ascending. It asks the kernel,
  // so it is slow.
  std::vector<NodeMemory> by_node(const Placement& placement) const;
  // Returns sentences on what the system refused, such as huge pages.
  std::vector<std::string> notes() const;

 private:
  std::vector<const Arena*> arenas() const;

  const Model& model_;
  std::vector<Arena> kv_arenas_, work_arenas_;  // by shard
  std::vector<MemoryRegion> regions_;           // the plans' regions come last
  KvView kv_;
  StateView states_;
  std::vector<std::byte*> scratch_;
  std::unique_ptr<PlanMemory> plan_memory_;
  std::vector<std::byte*> logits_;
  float* hidden_ = nullptr;
};

}  // namespace hearth
