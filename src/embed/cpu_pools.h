// The CPU pools of a machine: one for every node or one for all, whichever does more.
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
  // The way of splitting; none: on a machine whose threads sit on several nodes both are made and
  // measured.
  std::optional<PoolSplit> split;
  EngineOptions engine;  // embed_engine_options(); who sits where is added for each pool
  EmbedOptions embed;
};

// Loads an engine with these options, which say where it sits.
using MakeEngine = std::function<std::unique_ptr<Engine>(const EngineOptions& options)>;

struct CpuPools {
  std::vector<std::unique_ptr<CpuPool>> pools;
  PoolSplit split = PoolSplit::kOne;
  // Tokens a second of each split, all pools together; 0 where it was not measured.
  double nodes_rate = 0, one_rate = 0;
};

// The engines that make_cpu_pools() loads first: those of the pools for every node, where there are
// several and nobody says otherwise.
std::vector<EngineOptions> pool_engines(const Machine& machine, const PoolsOptions& options);

// The measured choice makes both at once, and takes a pool for every node without measuring where
// memory does not hold both.
//
// Throws what `make` throws, (kUsage) for places that cannot be.
CpuPools make_cpu_pools(const Machine& machine, const PoolsOptions& options,
                        const MakeEngine& make);

// Tokens a second of pools that work at the same time, each on steps of texts of kProbeTokens.
double measure_pools(const std::vector<std::unique_ptr<CpuPool>>& pools);

}  // namespace hearth
