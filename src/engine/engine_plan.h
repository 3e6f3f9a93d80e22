// EnginePlan: the PU of every thread, how the weights are cut, where the shards lie, and the plan
// of each phase. An engine settles it before it touches memory. It is plain data with a text form,
// so that a plan can be kept, changed by hand and loaded back:
//
//   hearth-engine-plan 3
//   thread_pus 0 1 2 3
//   shard_nodes 0 1
//   shares 1 1
//   experts cut
//   hearth-plan 2
//   phase prefill
//   ...
//   hearth-plan 2
//   phase decode
//   ...
//   hearth-stream-plan 2
//   rows 8192
//   kept 52
//   berths 2
//   experts 0
//   threshold 251
//
// thread_pus: the PU of every thread; shard_nodes: the NUMA node of each shard, both by the
// operating system's numbers; shares: each shard's part of every axis, in proportion; experts: cut
// or spread (ExpertCut), cut if the line is missing. Both phases' plans follow (plan/plan.h). If
// prompts are streamed through an accelerator, a part says how, for options that the user does not
// set (StreamChoice). Versions 1 and 2 have no such part, and are still read; version 1 of that
// part has no line for the ring of experts, and is read too.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hybrid/stream_plan.h"
#include "models/model.h"
#include "plan/plan.h"
#include "topology/placement.h"

namespace hearth {

struct EngineOptions;

struct EnginePlan {
  Placement placement;                // seats in the order of their shards
  std::vector<uint32_t> shard_nodes;  // machine node of each shard
  std::vector<uint32_t> shares;
  Plan prefill, decode;
  ExpertCut experts = ExpertCut::kCut;
  std::optional<StreamChoice> stream = {};

  const Plan& of(Phase phase) const { return phase == Phase::kPrefill ? prefill : decode; }
  Plan& of(Phase phase) { return phase == Phase::kPrefill ? prefill : decode; }
};

// Returns the plan that `options` ask for. That is `options.plan`, if it is set. Else the threads
// are placed, and each node with threads and memory gets a shard. Threads of a node without memory
// work on the shard of the nearest node with memory. With fewer shards than nodes, neighbouring
// nodes share one. Shards are cut in proportion to the threads beside them. With a `model`, shards
// are cut and lie as the model's, and threads work on the nearest one. Throws Error (kUsage) for
// impossible options.
EnginePlan plan_engine(const Machine& machine, const EngineOptions& options,
                       const ModelPlacement* model = nullptr);

// Throws Error (kUsage), naming the rule, if a plan breaks a rule for plans of engines.
void check_engine_plan(const EnginePlan& plan);
// Throws Error (kUsage) if an engine under `now` cannot go on under `next`: threads must keep their
// PUs, and the weights their cuts.
void check_same_cut(const EnginePlan& now, const EnginePlan& next);

std::string engine_plan_text(const Machine& machine, const EnginePlan& plan);
// Throws Error (kUsage), naming the line that is wrong, or a node or PU that this machine lacks.
EnginePlan parse_engine_plan(std::string_view text, const Machine& machine);

}  // namespace hearth
