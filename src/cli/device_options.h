// The options that say what embeds and how queries are dealt out: --device, --offload, --slo,
// --admission, --gather, --host-cores, --pools, --list-devices.
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
  std::optional<uint32_t> host_cores;                    // none: a quarter
  std::string admission = "deadline", pools = "auto";
};

// The end of a sentence about a pool that leaves cores to accelerators; empty: it leaves none.
std::string host_cores_text(const DeviceReport& report);

void add_device_options(CLI::App& verb, DeviceArgs* args);

// "2s", "500ms" or "1.5": seconds; 0 where it is none of these.
double parse_seconds(const std::string& text);

// Joins the options of devices and of an engine; `engine` holds what the verb decides.
SetupOptions setup_options(const Machine& machine, const DeviceArgs& args, const EngineArgs& engine,
                           const EngineOptions& options, const EmbedOptions& embed);
DispatchOptions dispatch_options(const DeviceArgs& args);

// A table for people: every device, whether it has a queue, and why.
std::string device_table(const std::vector<DeviceReport>& reports);

}  // namespace hearth
