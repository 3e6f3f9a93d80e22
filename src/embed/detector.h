// Chooses the devices that get a queue, and says why (WindVE, Huang et al. 2025, section IV-C). If
// all devices are of one kind, each gets a queue. If there are accelerators and CPU pools, only the
// accelerators get one, unless offloading was asked for. A device in trouble gets no queue: one
// that does not answer, does not agree with the others, or misses the objective with a single query
// (equation 11).
#pragma once

#include <string>
#include <vector>

#include "embed/device.h"
#include "embed/latency_line.h"

namespace hearth {

struct DeviceSight {
  std::string name;
  DeviceKind kind = DeviceKind::kCpu;
  std::string trouble;  // empty: none
};

struct QueueDecision {
  bool queue = false;
  std::string why;
};

// Returns a decision for each device, in their order.
std::vector<QueueDecision> decide_queues(const std::vector<DeviceSight>& devices, bool offload);

// Returns the trouble of a device that takes `seconds_alone` for a single query, if that is longer
// than the objective `slo`; else "".
std::string trouble_of_slo(double seconds_alone, double slo);

}  // namespace hearth
