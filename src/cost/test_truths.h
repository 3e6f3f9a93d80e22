// Described machines whose cores share things that slow them down, as the description does not
// tell. They test the measurement of these costs and the searches that use it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "cost/contention.h"
#include "topology/machine.h"

namespace hearth {

struct MachineTruth {
  Machine machine;
  // [k - 1]: the GB/s that k cores of a cluster read together. A cluster is as many cores in a row
  // as this list has elements.
  std::vector<double> cluster = {1};
  double memory = 1e9;        // the most that a node's cores read together, in GB/s
  double second_read = 0.95;  // the factor on a node's reads if all cores have two threads
  double second_ops = 1.25;   // the factor on a core's operations with two threads

  // Returns the bytes a second that so many threads on each core of a node read.
  double read(const std::vector<uint32_t>& threads) const {
    std::map<size_t, size_t> busy;
    double twice = 0, cores = 0;
    for (size_t i = 0; i < threads.size(); ++i) {
      if (threads[i] == 0) continue;
      ++busy[i / cluster.size()];
      ++cores;
      twice += threads[i] > 1 ? 1 : 0;
    }
    double sum = 0;
    for (auto [which, count] : busy) sum += 1e9 * cluster[count - 1];
    return std::min(sum, 1e9 * memory) * (1 - (1 - second_read) * twice / std::max(cores, 1.0));
  }

  double ops(const std::vector<uint32_t>& threads) const {
    double sum = 0;
    for (uint32_t count : threads) sum += 1e9 * (count > 1 ? second_ops : count);
    return sum;
  }

  // Returns for each core of the machine, in turn, how many of these PUs it has.
  std::vector<uint32_t> threads_of(const std::vector<uint32_t>& pus) const {
    std::vector<uint32_t> threads(machine.cores.size(), 0);
    for (uint32_t c = 0; c < machine.cores.size(); ++c) {
      for (uint32_t pu : machine.cores[c].pus) threads[c] += std::ranges::count(pus, pu);
    }
    return threads;
  }

  ContentionProbe probe() const {
    return {[this](const std::vector<uint32_t>& pus) { return read(threads_of(pus)); },
            [this](const std::vector<uint32_t>& pus) { return ops(threads_of(pus)); }};
  }
};

// A machine in which four cores in a row share a port that is fast enough for three. A fourth slows
// all of them down.
inline MachineTruth port_truth(const std::string& description) {
  return {Machine::from_synthetic(description), {1, 2, 3, 2.4}};
}
// A machine in which two cores in a row share a tag of their cache. Together they read less than
// one core does.
inline MachineTruth tag_truth(const std::string& description) {
  return {Machine::from_synthetic(description), {1, 0.9}};
}
// A machine whose cores share nothing. Second threads compute more, but read a little less.
inline MachineTruth threads_truth(const std::string& description) {
  return {Machine::from_synthetic(description)};
}

}  // namespace hearth
