// The CPU pools of a machine: one for every node or one for all, whichever embeds more tokens a
// second.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "embed/cpu_pool.h"
#include "embed/pool_places.h"

namespace hearth {

struct PoolsOptions {
  std::string name = "cpu";  // one pool is called NAME, several NAME0, NAME1, ...
  PlacementOptions where;
  // Whether each node gets a pool or one pool gets all nodes. none: if the threads sit on several
  // nodes, pools of both kinds are made and measured.
  std::optional<PoolSplit> split;
  EngineOptions engine;  // as made by embed_engine_options(); each pool sets nodes and PUs
  EmbedOptions embed;
};

// Loads an engine with these options, which include its nodes and PUs.
using MakeEngine = std::function<std::unique_ptr<Engine>(const EngineOptions& options)>;

struct CpuPools {
  std::vector<std::unique_ptr<CpuPool>> pools;
  PoolSplit split = PoolSplit::kOne;
  // The tokens a second that all pools of a split compute together: nodes_rate with a pool for each
  // node, one_rate with one pool; 0 if the split was not measured.
  double nodes_rate = 0, one_rate = 0;
};

// Returns the options of the engines that make_cpu_pools() loads first: one for each node, if there
// are several nodes and `split` is not kOne.
std::vector<EngineOptions> pool_engines(const Machine& machine, const PoolsOptions& options);

// Makes the pools. If the split is to be chosen by measuring, the pools of both splits are in
// memory at the same time. If memory does not hold them all, there is a pool for every node, and
// nothing is measured.
//
// Throws the errors of `make`, and Error (kUsage) for impossible places.
CpuPools make_cpu_pools(const Machine& machine, const PoolsOptions& options,
                        const MakeEngine& make);

// Returns the tokens a second of pools that work at the same time, each on steps of texts of
// kProbeTokens tokens.
double measure_pools(const std::vector<std::unique_ptr<CpuPool>>& pools);

}  // namespace hearth
