#include "engine/engine_memory.h"

#include <map>

#include "base/enum_name.h"
#include "threads/flag.h"

namespace hearth {

const char* memory_kind_name(MemoryKind kind) {
  return enum_name<MemoryKind::kLogits>(
      {"weights", "keys and values", "states", "activations", "scratch", "logits"}, kind);
}

namespace {

// Allocates `bytes` of the arena for the shard's memory of this kind, and adds them to `regions`.
std::byte* take(MemoryKind kind, uint32_t shard, Arena& arena, size_t bytes,
                std::vector<MemoryRegion>* regions, size_t align = 64) {
  std::byte* address = arena.allocate(bytes, align);
  regions->push_back({kind, shard, arena.node(), address, bytes});
  return address;
}

}  // namespace

PlanMemory::PlanMemory(const Machine& machine, const EngineLayout& layout) {
  std::vector<std::byte*> activations;
  for (uint32_t s = 0; s < layout.shard_count(); ++s) {
    const size_t sync = layout.sync_bytes(s), bytes = layout.activation_bytes(s);
    arenas_.emplace_back(machine, layout.plan.shard_nodes[s], sync + bytes, "activations");
    divide_sync(layout, s,
                take(MemoryKind::kScratch, s, arenas_[s], sync, &regions_, kLineSpacing));
    activations.push_back(take(MemoryKind::kActivations, s, arenas_[s], bytes, &regions_));
  }
  divide_activations(layout, activations);
}

void PlanMemory::divide_sync(const EngineLayout& layout, uint32_t shard, std::byte* base) {
  prefill_.sync.push_back(base);
  decode_.sync.push_back(base + layout.prefill.sync[shard]);
}

// Divides the memory of activations, which both phases use at different times.
void PlanMemory::divide_activations(const EngineLayout& layout,
                                    const std::vector<std::byte*>& bases) {
  for (Phase phase : {Phase::kPrefill, Phase::kDecode}) {
    ContextMemory& memory = phase == Phase::kPrefill ? prefill_ : decode_;
    std::vector<std::byte*> next = bases;
    const Plan& plan = layout.plan.of(phase);
    for (uint32_t g = 0; g < plan.group_count(); ++g) {
      uint32_t shard = plan.groups[g].share.shard_begin;
      memory.activations.push_back(next[shard]);
      next[shard] += layout.sizes(phase).activations[g];
    }
  }
}

EngineMemory::EngineMemory(const Machine& machine, const EngineLayout& layout, const Model& model)
    : model_(model), kv_(layout.kv), states_(layout.states) {
  Binding binding = layout.options.binding();
  for (uint32_t s = 0; s < layout.shard_count(); ++s) {
    const Arena& weights = model.arenas()[s];
    // The model's arena is one region: weights fill all of it.
    regions_.push_back(
        {MemoryKind::kWeights, s, weights.node(), weights.data(), layout.weight_bytes[s]});
    uint32_t node = layout.plan.shard_nodes[s];
    size_t kv_bytes = layout.kv.shard_bytes(s);
    size_t plan_bytes = layout.sync_bytes(s) + layout.activation_bytes(s);
    kv_arenas_.emplace_back(machine, node, kv_bytes, "KV cache", binding);
    work_arenas_.emplace_back(machine, node, layout.work_bytes(s) - plan_bytes, "scratch");
    kv_.set_base(s, take(MemoryKind::kKv, s, kv_arenas_[s], kv_bytes, &regions_));
    const size_t state_bytes = states_.shard_bytes(s);
    if (state_bytes > 0) {
      states_.set_base(s, take(MemoryKind::kStates, s, work_arenas_[s], state_bytes, &regions_));
    }
    logits_.push_back(
        take(MemoryKind::kLogits, s, work_arenas_[s], layout.logit_bytes[s], &regions_));
  }
  for (uint32_t s : layout.member_shards()) {
    scratch_.push_back(take(MemoryKind::kScratch, s, work_arenas_[s], kOpScratchBytes, &regions_));
  }
  std::byte* hidden = take(MemoryKind::kLogits, 0, work_arenas_[0], layout.hidden_bytes, &regions_);
  hidden_ = reinterpret_cast<float*>(hidden);
  replace(std::make_unique<PlanMemory>(machine, layout));
}

std::vector<std::span<std::byte>> EngineMemory::kv_memory() const {
  std::vector<std::span<std::byte>> memory;
  for (const Arena& arena : kv_arenas_) memory.emplace_back(arena.data(), arena.capacity());
  return memory;
}

void EngineMemory::replace(std::unique_ptr<PlanMemory> plans) {
  if (plan_memory_) regions_.resize(regions_.size() - plan_memory_->regions().size());
  regions_.insert(regions_.end(), plans->regions().begin(), plans->regions().end());
  plan_memory_ = std::move(plans);
}

std::vector<const Arena*> EngineMemory::arenas() const {
  std::vector<const Arena*> all;
  for (const auto* arenas :
       {&model_.arenas(), &kv_arenas_, &work_arenas_, &plan_memory_->arenas()}) {
    for (const Arena& arena : *arenas) all.push_back(&arena);
  }
  return all;
}

std::vector<NodeMemory> EngineMemory::by_node(const Placement& placement) const {
  std::map<uint32_t, NodeMemory> nodes;
  for (const MemoryRegion& region : regions_) {
    NodeMemory& node = nodes[region.node];
    size_t* kind = region.kind == MemoryKind::kWeights  ? &node.weights
                   : region.kind == MemoryKind::kKv     ? &node.kv
                   : region.kind == MemoryKind::kStates ? &node.states
                                                        : &node.others;
    *kind += region.bytes;
  }
  for (const Arena* arena : arenas()) nodes[arena->node()].huge += arena->huge_bytes();
  for (const Seat& seat : placement.seats) ++nodes[seat.node].threads;
  std::vector<NodeMemory> all;
  for (auto& [number, node] : nodes) {
    node.node = number;
    all.push_back(node);
  }
  return all;
}

std::vector<std::string> EngineMemory::notes() const {
  std::vector<std::string> all;
  for (const Arena* arena : arenas()) {
    all.insert(all.end(), arena->notes().begin(), arena->notes().end());
  }
  return all;
}

}  // namespace hearth
