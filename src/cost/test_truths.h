// Machines that are described, with a truth about what their cores share that the description does
// not tell: for tests of what measures it and of what then searches.
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
  // GB/s that k cores of a cluster read, which are so many in a row.
  std::vector<double> cluster = {1};
  double memory = 1e9;        // a node's cores together read no more, in GB/s
  double second_read = 0.95;  // of what a node's cores read, where all have two threads
  double second_ops = 1.25;   // of a core's operations with two threads

  // Bytes a second of so many threads on each core of a node.
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

  // Returns how many of these PUs each core of the machine has, in turn.
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

// Four cores in a row have a port that serves three: a fourth one slows them all down.
inline MachineTruth port_truth(const std::string& description) {
  return {Machine::from_synthetic(description), {1, 2, 3, 2.4}};
}
// Two share a tag of their cache.
inline MachineTruth tag_truth(const std::string& description) {
  return {Machine::from_synthetic(description), {1, 0.9}};
}
// Cores share nothing, and second threads bring something to prompts and cost decode something.
inline MachineTruth threads_truth(const std::string& description) {
  return {Machine::from_synthetic(description)};
}

}  // namespace hearth
