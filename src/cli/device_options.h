// Options that select devices for embedding and how queries are distributed: --device, --offload,
// --slo, --admission, --gather, --host-cores, --pools, --list-devices.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "cli/cli11.h"
#include "cli/options.h"
#include "embed/embed_setup.h"

namespace hearth {

struct DeviceArgs {
  std::vector<std::string> devices;
  bool offload = false, list = false;
  double slo = std::numeric_limits<double>::infinity();  // seconds
  std::optional<double> gather;                          // seconds
  std::optional<uint32_t> host_cores;  // cores left to accelerators; none: a quarter
  std::string admission = "deadline", pools = "auto";
};

// Returns the end of a sentence about a pool that leaves cores to accelerators; "" if the pool
// leaves none.
std::string host_cores_text(const DeviceReport& report);

void add_device_options(CLI::App& verb, DeviceArgs* args);

// Returns the seconds of "2s", "500ms" or "1.5"; 0 for other texts.
double parse_seconds(const std::string& text);

// Combines the options of devices and of an engine; `options` holds what the verb itself decides.
SetupOptions setup_options(const Machine& machine, const DeviceArgs& args, const EngineArgs& engine,
                           const EngineOptions& options, const EmbedOptions& embed);
DispatchOptions dispatch_options(const DeviceArgs& args);

// Returns a table of all devices: whether each has a queue, and why.
std::string device_table(const std::vector<DeviceReport>& reports);

}  // namespace hearth
