// Sets up queues over the devices that a user names (WindVE, Huang et al. 2025, sections IV-B and
// IV-C). Devices are made, must agree with each other, and are measured if there is an objective.
// Then each device gets a queue, or a reason why it has none. Pools that would get no queue are not
// loaded. GPUs copy the weights of a pool. Without a pool the weights are loaded once for all GPUs,
// and the host keeps none of them.
//
// Errors: impossible specs and settings (kUsage); the errors of making a pool.
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
  PoolsOptions pools;                                    // for a `cpu` spec without settings
  const ModelSpec* spec = nullptr;                       // the spec of the pools' and GPUs' model
  Isa isa = Isa::kReference;                             // the ISA level of pools' kernels
  // Cores that pools leave to the host's part of the work of this machine's accelerators, if there
  // are some and the user did not place the pool; none: a quarter (section IV-D).
  std::optional<uint32_t> host_cores = {};
  // Loads the model for GPUs if no pool has loaded it. It lies where an engine with these options
  // would place it.
  std::function<std::shared_ptr<Model>(const EngineOptions& engine)> load_model = {};
  // Called before a model is loaded, with the options of all engines that will be made. If there
  // are no pools, it gets the options with which load_model() loads the GPUs' weights.
  std::function<void(std::span<const EngineOptions> engines)> before_pools = {};
};

// The outcome for one device: whether it got a queue, or why not.
struct DeviceReport {
  std::string name;
  DeviceKind kind = DeviceKind::kCpu;
  bool queue = false;
  std::string why;
  // The measured line over tokens, if there is an objective, and the number of texts of
  // kProbeTokens tokens that can be answered together within the objective.
  LatencyLine line;
  uint64_t depth = 0;
  std::vector<uint32_t> pus;  // the PUs of a pool's threads, rising
  uint32_t host_cores = 0;    // cores that a pool leaves to accelerators
  std::string bits;           // how a GPU's vectors differ from the cores' in the last bits
};

struct EmbedSetup {
  std::vector<DeviceReport> reports;
  std::vector<DeviceQueue> queues;
  bool texts = false;         // queries need their text: there is an endpoint
  std::vector<uint32_t> pus;  // the PUs that pools work on
  uint32_t context = 0;       // least context of pools and GPUs; 0: there are none
};

// Makes queries of texts, with their tokens.
using MakeQuery = std::function<EmbedQuery(std::string_view text)>;

// Reads a `cpu` spec's placement (nodes=0-1+3, cpus=8-15, threads=8; numbers are the operating
// system's), which overrides `where`.
PlacementOptions pool_placement(const DeviceSpec& spec, const Machine& machine,
                                PlacementOptions where);

// Throws Error (kResource), with the first device's reason, if no device has a queue.
void require_queue(const EmbedSetup& setup);

EmbedSetup set_up_devices(const Machine& machine, const SetupOptions& options,
                          const MakeEngine& make_engine, const MakeQuery& make_query,
                          DeviceClock& clock, const Listener& listener = {});

}  // namespace hearth
