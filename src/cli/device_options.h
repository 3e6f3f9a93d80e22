// The options that say what embeds and how queries are dealt out: --device, --offload, --slo,
// --admission, --pools, --list-devices.
#pragma once

#include <limits>
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
  std::string admission = "deadline", pools = "auto";
};

void add_device_options(CLI::App& verb, DeviceArgs* args);

// "2s", "500ms" or "1.5": seconds; 0 where it is none of these.
double parse_seconds(const std::string& text);

// What the options of devices and of an engine say together; `engine` holds what the verb decides.
SetupOptions setup_options(const Machine& machine, const DeviceArgs& args, const EngineArgs& engine,
                           const EngineOptions& options, const EmbedOptions& embed);
DispatchOptions dispatch_options(const DeviceArgs& args);

// A table for people: every device, whether it has a queue, and why.
std::string device_table(const std::vector<DeviceReport>& reports);

}  // namespace hearth
