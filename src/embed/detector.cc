#include "embed/detector.h"

#include <fmt/format.h>

#include <algorithm>

namespace hearth {

std::vector<QueueDecision> decide_queues(const std::vector<DeviceSight>& devices, bool offload) {
  auto any = [&](DeviceKind kind) {
    return std::any_of(devices.begin(), devices.end(), [&](const DeviceSight& device) {
      return device.trouble.empty() && device.kind == kind;
    });
  };
  bool both = any(DeviceKind::kAccelerator) && any(DeviceKind::kCpu);
  std::vector<QueueDecision> out;
  for (const DeviceSight& device : devices) {
    if (!device.trouble.empty()) {
      out.push_back({false, device.trouble});
    } else if (!both) {
      out.push_back({true, offload ? "the only kind there is: nothing to offload to"
                                   : "the only kind there is"});
    } else if (device.kind == DeviceKind::kAccelerator) {
      out.push_back({true, "an accelerator: queries go to it first"});
    } else if (offload) {
      out.push_back({true, "takes what accelerators cannot"});
    } else {
      out.push_back({false,
                     "unused, as there is an accelerator; with --offload it takes what the "
                     "accelerator cannot"});
    }
  }
  return out;
}

std::string trouble_of_slo(double seconds_alone, double slo) {
  if (seconds_alone <= slo) return {};
  return fmt::format("a single text takes {:.3g} s, longer than the objective of {:.3g} s",
                     seconds_alone, slo);
}

}  // namespace hearth
