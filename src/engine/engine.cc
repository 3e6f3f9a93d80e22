#include "engine/engine.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <map>

#include "base/check.h"
#include "base/clock.h"
#include "base/error.h"
#include "engine/engine_plan.h"
#include "engine/shard_shares.h"
#include "graph/sync_layout.h"

namespace hearth {

const char* memory_kind_name(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::kWeights:
      return "weights";
    case MemoryKind::kKv:
      return "keys and values";
    case MemoryKind::kActivations:
      return "activations";
    case MemoryKind::kScratch:
      return "scratch";
    case MemoryKind::kLogits:
      return "logits";
  }
  return "unknown";
}

Engine::Engine(const GgufFile& file, const Machine& machine, Isa isa, const EngineOptions& options,
               const Report& report)
    : options_(options), isa_(isa), architecture_(architecture_for(file)) {
  config_ = read_decoder_config(file);
  architecture_.configure(file, &config_);
  EnginePlan layout = plan_engine(machine, options_);
  options_.shards = static_cast<uint32_t>(layout.shard_nodes.size());
  options_.prefill_rows = layout.prefill.max_rows;
  options_.decode_rows = layout.decode.max_rows;
  settle_options(config_, &options_);
  layout.prefill.max_rows = options_.prefill_rows;
  layout.decode.max_rows = options_.decode_rows;
  member_shards_ = layout.decode.member_shards;
  shard_nodes_ = layout.shard_nodes;
  placement_ = layout.placement;
  spare_pus_ = hearth::spare_pus(machine, placement_);

  cut(file, layout);
  cut_to_fit(file, machine, &layout);
  settle_kv_pages(machine);
  check_memory(memory_.total(), "the model", machine);
  for (uint32_t s = 0; machine.binds_memory() && s < options_.shards; ++s) {
    check_node_memory(shard_bytes(s), "a node's part of the model", machine, shard_nodes_[s]);
  }

  team_ = std::make_unique<Team>(placement_, TeamOptions{.pin_caller = true});
  allocate(machine);
  size_t total = weights_->file_bytes();
  double start = steady_seconds();
  weights_->load(*team_, member_shards_, weight_arenas_, [&](size_t done) { report(done, total); });
  packing_seconds_ = steady_seconds() - start;
  start_phase(&prefill_);
  start_phase(&decode_);
}

// Axes, weights without memory, graphs, and what all of it takes.
void Engine::cut(const GgufFile& file, const EnginePlan& layout) {
  axes_ = std::make_unique<DecoderAxes>(cut_decoder(config_, layout.shares));
  weights_ = std::make_unique<WeightStore>(file);
  prefill_.graph = build_graph(*weights_, layout.prefill);
  decode_.graph = build_graph(*weights_, layout.decode);
  weights_->check_all_used();
  memory_ = measure();
}

// Where a node is too small for its shard, others take more. Heads are cut in coarse steps, so
// what was cut to fit may still be too large: the next attempt aims lower.
void Engine::cut_to_fit(const GgufFile& file, const Machine& machine, EnginePlan* layout) {
  constexpr uint32_t kAttempts = 6;
  for (uint32_t attempt = 0; machine.binds_memory() && attempt < kAttempts; ++attempt) {
    std::vector<uint64_t> bytes, room;
    bool fits = true;
    for (uint32_t s = 0; s < options_.shards; ++s) {
      uint64_t there = machine.nodes[machine.memory_node(shard_nodes_[s])].available_bytes;
      if (there == 0) return;  // unknown
      uint64_t left = there > work_bytes(s) ? there - work_bytes(s) : 0;
      bytes.push_back(weights_->shard_bytes(s) + least_kv_bytes(s));
      fits = fits && bytes[s] <= left;
      room.push_back(left - left / 16 * attempt);
    }
    if (fits) return;
    std::vector<uint32_t> shares = shares_that_fit(layout->shares, bytes, room);
    if (shares == layout->shares) return;
    layout->shares = std::move(shares);
    cut(file, *layout);
  }
}

Graph Engine::build_graph(WeightStore& weights, const Plan& plan) const {
  // Rows of logits and of hidden states may be wanted in the same step.
  uint32_t outputs = options_.outputs + options_.hidden_rows;
  GraphBuilder graph(plan, kernels_for(isa_), std::min(outputs, plan.max_rows));
  DecoderBuilder decoder(graph, weights, config_, *axes_);
  architecture_.build(decoder);
  return std::move(graph).finish();
}

KvView Engine::kv_layout() const {
  KvLayer layer{config_.head_dim, config_.head_dim, {}};
  for (uint32_t s = 0; s < options_.shards; ++s) {
    layer.heads.push_back(axes_->kv.shard(s).size());
  }
  const uint32_t pages =
      options_.kv_pages != 0 ? options_.kv_pages : options_.sequences * pages_for(options_.context);
  return KvView(options_.kv_type, pages, options_.shards,
                std::vector<KvLayer>(config_.layers, layer));
}

// Activations of the groups that live on shard s: the larger of the two phases, which never run at
// the same time.
size_t Engine::activation_bytes(uint32_t shard) const {
  size_t most = 0;
  for (const Graph* graph : {&prefill_.graph, &decode_.graph}) {
    size_t bytes = 0;
    for (uint32_t g = 0; g < graph->plan.group_count(); ++g) {
      if (graph->plan.groups[g].share.shard_begin == shard) bytes += graph->activation_bytes[g];
    }
    most = std::max(most, bytes);
  }
  return most;
}

// What threads on shard s wait on, in both phases: epochs go on from run to run, so they share
// nothing.
size_t Engine::sync_bytes(uint32_t shard) const {
  return SyncLayout(prefill_.graph).bytes[shard] + SyncLayout(decode_.graph).bytes[shard];
}

MemoryUse Engine::measure() {
  kv_ = kv_layout();
  logits_ = std::make_unique<StepLogits>(config_.vocabulary, options_.outputs, axes_->vocabulary);
  MemoryUse use;
  use.scratch = member_shards_.size() * kOpScratchBytes;
  for (uint32_t s = 0; s < options_.shards; ++s) {
    use.weights += weights_->shard_bytes(s);
    use.kv += kv_bytes(s);
    use.activations += activation_bytes(s);
    use.scratch += sync_bytes(s);
    use.logits += logits_->bytes(s);
  }
  use.logits += hidden_bytes();
  return use;
}

// Where the pages asked for by default are more than memory holds, there are fewer of them.
// Sequences then take turns in a smaller pool.
void Engine::settle_kv_pages(const Machine& machine) {
  uint32_t least = pages_for(options_.context), most = kv_.page_count();
  uint32_t fits = most;
  auto limit = [&](uint64_t available, size_t needed, size_t kv) {
    if (kv == 0 || needed <= available) return;
    uint64_t others = needed - kv;
    uint64_t room = available > others ? (available - others) / (kv / most) : 0;
    fits = static_cast<uint32_t>(std::min<uint64_t>(fits, room));
  };
  if (machine.source != MachineSource::kDescribed && machine.memory_available != 0) {
    limit(machine.memory_available, memory_.total(), memory_.kv);
  }
  for (uint32_t s = 0; machine.binds_memory() && s < options_.shards; ++s) {
    uint64_t there = machine.nodes[machine.memory_node(shard_nodes_[s])].available_bytes;
    if (there != 0) limit(there, shard_bytes(s), kv_bytes(s));
  }
  if (options_.kv_pages == 0) kv_.set_page_count(std::max(fits, least));
  options_.kv_pages = kv_.page_count();
  memory_.kv = memory_.kv / most * kv_.page_count();
}

size_t Engine::kv_bytes(uint32_t shard) const { return kv_.shard_bytes(shard); }

// With as few pages as may be.
size_t Engine::least_kv_bytes(uint32_t shard) const {
  uint32_t least = options_.kv_pages != 0 ? options_.kv_pages : pages_for(options_.context);
  return kv_.page_bytes(shard) * least;
}

size_t Engine::hidden_bytes() const {
  return options_.hidden_rows * size_t{config_.width} * sizeof(float);
}

// Activations, scratch and flags of the members on shard s, and its logits; the hidden states lie
// on the first.
size_t Engine::work_bytes(uint32_t shard) const {
  auto members =
      static_cast<size_t>(std::count(member_shards_.begin(), member_shards_.end(), shard));
  return sync_bytes(shard) + activation_bytes(shard) + members * kOpScratchBytes +
         logits_->bytes(shard) + (shard == 0 ? hidden_bytes() : 0);
}

size_t Engine::shard_bytes(uint32_t shard) const {
  return weights_->shard_bytes(shard) + kv_bytes(shard) + work_bytes(shard);
}

void Engine::allocate(const Machine& machine) {
  Binding binding = options_.interleave ? Binding::kInterleaved : Binding::kNode;
  for (uint32_t s = 0; s < options_.shards; ++s) {
    uint32_t node = shard_nodes_[s];
    size_t weights = weights_->shard_bytes(s);
    weight_arenas_.emplace_back(machine, node, weights, "weights", binding);
    kv_arenas_.emplace_back(machine, node, kv_bytes(s), "KV cache", binding);
    work_arenas_.emplace_back(machine, node, work_bytes(s), "activations");
    // The store takes it piece by piece, all of it.
    regions_.push_back(
        {MemoryKind::kWeights, s, weight_arenas_[s].node(), weight_arenas_[s].data(), weights});
    kv_.set_base(s, take(MemoryKind::kKv, s, kv_arenas_[s], kv_bytes(s)));
    shard_sync_.push_back(
        take(MemoryKind::kScratch, s, work_arenas_[s], sync_bytes(s), kLineSpacing));
    shard_activations_.push_back(
        take(MemoryKind::kActivations, s, work_arenas_[s], activation_bytes(s)));
    logits_->place(s, take(MemoryKind::kLogits, s, work_arenas_[s], logits_->bytes(s)));
  }
  for (uint32_t s : member_shards_) {
    scratch_.push_back(take(MemoryKind::kScratch, s, work_arenas_[s], kOpScratchBytes));
  }
  std::byte* hidden = take(MemoryKind::kLogits, 0, work_arenas_[0], hidden_bytes());
  hidden_ = reinterpret_cast<float*>(hidden);
  pool_ = std::make_unique<KvPool>(kv_.page_count(),
                                   [this](uint32_t from, uint32_t to) { copy_page(from, to); });
}

std::byte* Engine::take(MemoryKind kind, uint32_t shard, Arena& arena, size_t bytes, size_t align) {
  std::byte* address = arena.allocate(bytes, align);
  regions_.push_back({kind, shard, arena.node(), address, bytes});
  return address;
}

std::vector<NodeMemory> Engine::node_memory() const {
  std::map<uint32_t, NodeMemory> nodes;
  for (const MemoryRegion& region : regions_) {
    NodeMemory& node = nodes[region.node];
    size_t* kind = region.kind == MemoryKind::kWeights ? &node.weights
                   : region.kind == MemoryKind::kKv    ? &node.kv
                                                       : &node.others;
    *kind += region.bytes;
  }
  for (const std::vector<Arena>* arenas : {&weight_arenas_, &kv_arenas_, &work_arenas_}) {
    for (const Arena& arena : *arenas) nodes[arena.node()].huge += arena.huge_bytes();
  }
  for (const Seat& seat : placement_.seats) ++nodes[seat.node].threads;
  std::vector<NodeMemory> all;
  for (auto& [number, node] : nodes) {
    node.node = number;
    all.push_back(node);
  }
  return all;
}

void Engine::copy_page(uint32_t from, uint32_t to) {
  for (uint32_t s = 0; s < options_.shards; ++s) {
    for (uint32_t layer = 0; layer < config_.layers; ++layer) {
      const size_t bytes = kv_.page_bytes(s, layer);
      if (bytes == 0) continue;
      std::memcpy(kv_.page(s, layer, to, 0).k, kv_.page(s, layer, from, 0).k, bytes);
    }
  }
}

void Engine::start_phase(PhasePart* part) {
  ContextMemory memory;
  std::vector<std::byte*> next = shard_activations_;
  for (uint32_t g = 0; g < part->graph.plan.group_count(); ++g) {
    uint32_t shard = part->graph.plan.groups[g].share.shard_begin;
    memory.activations.push_back(next[shard]);
    next[shard] += part->graph.activation_bytes[g];
  }
  memory.sync = shard_sync_;
  std::vector<size_t> taken = SyncLayout(part->graph).bytes;
  for (size_t s = 0; s < taken.size(); ++s) shard_sync_[s] += taken[s];
  part->executor = std::make_unique<Executor>(*team_, part->graph.plan, scratch_);
  for (const PlanGroup& group : part->graph.plan.groups) {
    part->copies.push_back(copy_for(group, part->graph.plan, memory));
    part->contexts.push_back(part->copies.back()->context.get());
  }
}

// Made by a thread of the group: the heap it allocates from is its own, so all of it lies on its
// node.
std::unique_ptr<Engine::GroupCopy> Engine::copy_for(const PlanGroup& group, const Plan& plan,
                                                    const ContextMemory& memory) {
  std::unique_ptr<GroupCopy> copy;
  std::exception_ptr error;
  team_->run([&](uint32_t member) noexcept {
    if (member != group.member_begin) return;
    try {
      copy = std::make_unique<GroupCopy>();
      copy->weights = weights_->copy();
      copy->graph = build_graph(*copy->weights, plan);
      copy->context = std::make_unique<ExecutionContext>(copy->graph, memory, kv_);
    } catch (...) {
      error = std::current_exception();
    }
  });
  if (error) std::rethrow_exception(error);
  return copy;
}

std::vector<std::string> Engine::warnings() const {
  std::vector<std::string> all = team_->warnings();
  for (const std::vector<Arena>* arenas : {&weight_arenas_, &kv_arenas_, &work_arenas_}) {
    for (const Arena& arena : *arenas) {
      all.insert(all.end(), arena.notes().begin(), arena.notes().end());
    }
  }
  return all;
}

void Engine::check(std::span<const StepRequest> requests) const {
  uint32_t pages = 0;
  for (const StepRequest& request : requests) {
    if (request.sequence->length() + request.tokens.size() > options_.context) {
      fail(ErrorCode::kRequest,
           "a sequence of {} tokens does not fit the context of {}: raise --ctx or shorten it",
           request.sequence->length() + request.tokens.size(), options_.context);
    }
    for (int32_t token : request.tokens) {
      if (token < 0 || static_cast<uint32_t>(token) >= config_.vocabulary) {
        fail(ErrorCode::kRequest, "token {} is outside the vocabulary of {}", token,
             config_.vocabulary);
      }
    }
    pages += request.sequence->pages_needed(static_cast<uint32_t>(request.tokens.size()));
  }
  if (pages > pool_->available()) {
    fail(ErrorCode::kRequest,
         "{} KV pages are needed and {} are free: end a sequence or load with more", pages,
         pool_->available());
  }
}

// The rows of the step; outputs_ gets the rows of logits first.
void Engine::lay_out(std::span<const StepRequest> requests) {
  tokens_.clear();
  positions_.clear();
  row_items_.clear();
  outputs_.clear();
  sampled_.clear();
  items_.clear();
  std::vector<uint32_t> hidden;
  for (const StepRequest& request : requests) {
    HEARTH_CHECK(!request.tokens.empty(), "a request has tokens");
    auto first_row = static_cast<uint32_t>(tokens_.size());
    auto rows = static_cast<uint32_t>(request.tokens.size());
    uint32_t first_position = request.sequence->length();
    request.sequence->grow(request.tokens);
    for (uint32_t r = 0; r < rows; ++r) {
      tokens_.push_back(request.tokens[r]);
      positions_.push_back(first_position + r);
      row_items_.push_back(static_cast<uint32_t>(items_.size()));
      bool last = request.want == Want::kLast && r + 1 == rows;
      if (last || request.want == Want::kAll) {
        outputs_.push_back(first_row + r);
        sampled_.push_back(last ? 1 : 0);
      }
      if (request.want == Want::kHidden) hidden.push_back(first_row + r);
    }
    items_.push_back({first_row, rows, first_position, request.sequence->pages().data()});
  }
  logit_rows_ = static_cast<uint32_t>(outputs_.size());
  HEARTH_CHECK(logit_rows_ <= options_.outputs && hidden.size() <= options_.hidden_rows,
               "a step wants no more rows than the engine has room for");
  outputs_.insert(outputs_.end(), hidden.begin(), hidden.end());
}

bool Engine::step(std::span<const StepRequest> requests, const Abandon* abandon) {
  check(requests);
  lay_out(requests);
  PhasePart& part =
      tokens_.size() <= decode_.graph.plan.max_rows && outputs_.size() <= decode_.graph.max_outputs
          ? decode_
          : prefill_;
  StepView view{
      tokens_,  positions_, row_items_, items_, outputs_, logit_rows_, logits_->begin_step(),
      sampled_, hidden_};
  for (ExecutionContext* context : part.contexts) context->begin(view);
  if (part.executor->run(RunContexts(part.contexts), abandon)) return true;
  for (size_t i = 0; i < requests.size(); ++i) {
    requests[i].sequence->truncate(items_[i].first_position);
  }
  return false;
}

std::span<const float> Engine::logits(size_t i) const {
  HEARTH_CHECK(i < logit_rows_, "only wanted rows have logits");
  return logits_->row(i);
}

std::span<const TokenLogit> Engine::best(size_t i, uint32_t count, uint32_t below) const {
  HEARTH_CHECK(i < logit_rows_ && sampled_[i] != 0, "only rows to sample from have their best");
  return logits_->best(i, count, below);
}

std::span<const float> Engine::hidden(size_t i) const {
  HEARTH_CHECK(logit_rows_ + i < outputs_.size(), "only wanted rows have hidden states");
  return {hidden_ + i * config_.width, config_.width};
}

void Engine::prefill(Sequence& sequence, std::span<const int32_t> tokens) {
  size_t most = options_.prefill_rows;
  for (size_t done = 0; done < tokens.size();) {
    size_t count = std::min(most, tokens.size() - done);
    bool last = done + count == tokens.size();
    StepRequest request{&sequence, tokens.subspan(done, count),
                        last ? Want::kLast : Want::kNothing};
    step({&request, 1});
    done += count;
  }
}

void Engine::set_profiling(bool on) {
  for (PhasePart* part : {&prefill_, &decode_}) {
    if (on) part->profile = std::make_unique<Profile>(part->copies[0]->graph);
    part->executor->set_profile(on ? part->profile.get() : nullptr);
  }
}

ProfileSummary Engine::profile(Phase phase) const {
  const PhasePart& part = phase == Phase::kPrefill ? prefill_ : decode_;
  return part.profile ? part.profile->summary() : ProfileSummary();
}

}  // namespace hearth
