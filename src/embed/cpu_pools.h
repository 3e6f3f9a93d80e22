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
  std::string name = "cpu";  // of the pools: NAME, or NAME0, NAME1, ... where there are several
  PlacementOptions where;
  // The way of splitting; none: on a machine whose threads sit on several nodes both ways are made
  // and measured.
  std::optional<PoolSplit> split;
  EngineOptions engine;  // embed_engine_options(); nodes and PUs are set for each pool
  EmbedOptions embed;
};

// Loads an engine with these options, which include its nodes and PUs.
using MakeEngine = std::function<std::unique_ptr<Engine>(const EngineOptions& options)>;

struct CpuPools {
  std::vector<std::unique_ptr<CpuPool>> pools;
  PoolSplit split = PoolSplit::kOne;
  // Tokens a second of each split, all pools together; 0 where it was not measured.
  double nodes_rate = 0, one_rate = 0;
};

// Returns the options of the engines that make_cpu_pools() loads first: one for each node, if there
// are several nodes and `split` is not kOne.
std::vector<EngineOptions> pool_engines(const Machine& machine, const PoolsOptions& options);

// Makes the pools. To choose the split by measuring, both kinds are made at once. If memory does
// not hold both, there is a pool for every node, and nothing is measured.
//
// Throws the errors of `make`, and Error (kUsage) for impossible places.
CpuPools make_cpu_pools(const Machine& machine, const PoolsOptions& options,
                        const MakeEngine& make);

// Returns the tokens a second of pools that work at the same time, each on steps of texts of
// kProbeTokens tokens.
double measure_pools(const std::vector<std::unique_ptr<CpuPool>>& pools);

}  // namespace hearth
