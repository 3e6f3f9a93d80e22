// Parses a user's description of a device: `--device SPEC`, once for each.
//
//   cpu                              a pool of the cores that the process may use
//   cpu:nodes=1,threads=8            the same with settings, for the maker of the pool
//   http://host:port/v1              an endpoint of OpenAI's interface, also https
//   https://host/v1,model=bge,key=NAME,timeout=10,encoding=base64,kind=cpu,name=gpu0
//   gpu                              the first GPU of this machine (accelerator/), or by its name
//   gpu:NAME
//   sim:alpha=0.018,beta=0.27,kind=accelerator,noise=0.05,seed=1,tokens=75,width=8,name=v100
//
// alpha and beta are seconds, alpha for each `tokens` tokens. `key` names an environment variable
// that holds the endpoint's key; the key itself never stands in a spec. An endpoint is an
// accelerator unless it says kind=cpu. A simulation says its kind, an accelerator by default.
//
// Errors (kUsage): the spec, the part that is wrong, and what can stand there.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "embed/device.h"
#include "embed/device_clock.h"
#include "embed/endpoint_options.h"
#include "embed/sim_device.h"

namespace hearth {

// A pool's settings, by name, as the spec gives them. The code that makes the pool reads them and
// refuses names that it does not know.
struct PoolSpec {
  std::map<std::string, std::string> settings;
};

// The name of a GPU for choose_accelerator(); empty: the first one that is not software.
struct GpuSpec {
  std::string name;
};

struct DeviceSpec {
  std::string text;  // the spec as the user gave it
  std::string name;  // "cpu", "gpu:NAME", "host:port", "sim" or what `name=` says
  DeviceKind kind = DeviceKind::kCpu;
  std::variant<PoolSpec, GpuSpec, EndpointOptions, SimOptions> what;
};

DeviceSpec parse_device_spec(std::string_view text);

// Parses several specs. If devices have the same name, the later ones become NAME-2, NAME-3.
std::vector<DeviceSpec> parse_device_specs(const std::vector<std::string>& texts);

// Makes a device that runs an engine; called for specs with a PoolSpec or a GpuSpec.
using PoolMaker = std::function<std::unique_ptr<EmbedDevice>(const DeviceSpec&)>;

// Makes the device. An endpoint is asked for its width. `clock` must outlive the device.
std::unique_ptr<EmbedDevice> make_device(const DeviceSpec& spec, DeviceClock& clock,
                                         const PoolMaker& pool);

}  // namespace hearth
