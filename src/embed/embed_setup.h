// Sets up queues over the devices that a user names (WindVE, Huang et al. 2025, sections IV-B and
// IV-C): devices are made, must agree with each other, are measured where there is an objective,
// and get a queue or a reason why not. Pools that would get none are not loaded. GPUs copy the
// weights of a pool; where there is none they are loaded once for all GPUs, and the host keeps none
// of them.
//
// Errors: specs and settings that cannot be (kUsage); what making a pool throws.
#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/listener.h"
#include "embed/cpu_pools.h"
#include "embed/device_clock.h"
#include "embed/device_spec.h"
#include "embed/queue_manager.h"
#include "models/model.h"
#include "topology/cpu_features.h"

namespace hearth {

struct SetupOptions {
  std::vector<std::string> devices;  // specs; empty: `cpu`
  bool offload = false;
  double slo = std::numeric_limits<double>::infinity();  // seconds
  PoolsOptions pools;                                    // of a `cpu` without settings of its own
  const ModelSpec* spec = nullptr;                       // of what pools and GPUs compute
  Isa isa = Isa::kReference;                             // of pools' kernels
  // Cores that pools leave to the host's part of the work of accelerators of this machine, where
  // there are some and a pool's place is not said; none: a quarter (section IV-D).
  std::optional<uint32_t> host_cores = {};
  // Loads the model for GPUs beside which no pool has it, placed as such an engine would have it.
  std::function<std::shared_ptr<Model>(const EngineOptions& engine)> load_model = {};
  // Called before a model is loaded, with the options of all engines that will be there; without
  // pools of the one that GPUs' weights are loaded as.
  std::function<void(std::span<const EngineOptions> engines)> before_pools = {};
};

// The outcome for one device: whether it got a queue, or why not.
struct DeviceReport {
  std::string name;
  DeviceKind kind = DeviceKind::kCpu;
  bool queue = false;
  std::string why;
  // The measured line over tokens, where there is an objective, and how many texts of kProbeTokens
  // tokens can be answered together within it.
  LatencyLine line;
  uint64_t depth = 0;
  std::vector<uint32_t> pus;  // of a pool's threads, rising
  uint32_t host_cores = 0;    // cores that a pool leaves to accelerators
  std::string bits;           // of a GPU whose vectors are not the cores' to the last bit: why
};

struct EmbedSetup {
  std::vector<DeviceReport> reports;
  std::vector<DeviceQueue> queues;
  bool texts = false;         // queries need their text: there is an endpoint
  std::vector<uint32_t> pus;  // that pools work on
  uint32_t context = 0;       // the least of pools' and GPUs'; 0: there is none
};

// Makes queries of texts, with their tokens.
using MakeQuery = std::function<EmbedQuery(std::string_view text)>;

// Reads what a `cpu` spec says (nodes=0-1+3, cpus=8-15, threads=8; numbers are the operating
// system's) over `where`.
PlacementOptions pool_placement(const DeviceSpec& spec, const Machine& machine,
                                PlacementOptions where);

// Throws (kResource, with the first device's reason) where no device has a queue.
void require_queue(const EmbedSetup& setup);

EmbedSetup set_up_devices(const Machine& machine, const SetupOptions& options,
                          const MakeEngine& make_engine, const MakeQuery& make_query,
                          DeviceClock& clock, const Listener& listener = {});

}  // namespace hearth
