// Measures what threads of a node lose by working beside each other: how much k of its cores read
// together, in different positions, with one thread a core and with two, and how much they compute.
// From that it infers sharing that the system does not report: cores in a row that share something
// too slow for all of them (a port of a cache, an L3 tag; Sandwich, section 2), and rates that fall
// when more cores work.
//
//   Contention contention = measure_contention(machine, node, probe);
//   double rate = contended_read(contention, {1, 1, 1, 0, 1, 1, 1, 0});   // of three in four cores
//
// The model has two levels. A cluster is `cluster` cores in a row; k cores of one cluster read g(k)
// if no other cluster works. The sum of g over all clusters is their demand w on the node. The node
// then gives F(w), a curve through all measurements with straight lines between them. Both curves
// are of patterns with as many threads on every working core. The rate of a pattern that has cores
// with one thread and with two lies between the two curves.
//
// The patterns that are measured: k cores in a row, for k up to four, half of all and a cache's; k
// cores as far apart as can be; the first one, two or three of every two, three or four cores in a
// row; all cores. These are a few dozen, whatever the number of cores. If the time is too short,
// only up to four cores in a row and all cores are measured. Then clusters are not looked for, and
// the result says so (`whole`).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "topology/machine.h"

namespace hearth {

// The most cores of a cluster.
inline constexpr uint32_t kMaxCluster = 4;
// The limit on cores of a node, more than any node has.
inline constexpr uint32_t kMaxNodeCores = 1u << 16;

struct Contention {
  // The rates with so many threads on every core at work.
  struct Way {
    std::vector<double> cluster_read;             // [k - 1]: g(k), bytes a second
    std::vector<std::pair<double, double>> node;  // w and F(w), by rising w
    // Operations a second of one core while all cores work, divided by those of a thread that works
    // alone.
    double ops = 1;
  };
  uint32_t cores = 0;  // of the node; 0: nothing is known, since cores are few or unlike
  uint32_t cluster = 1;
  std::vector<Way> ways;  // [threads a core - 1], one or two
  bool whole = true;      // no pattern was left out
  double seconds = 0;     // the time for patterns, if some were left out
};

// The functions that measure, on these PUs of one node. `read` and `ops` return the bytes that
// their threads read together and the operations that they do, a second. The units may be any.
struct ContentionProbe {
  std::function<double(const std::vector<uint32_t>&pus)> read, ops;
  std::function<bool()> late = [] { return false; };  // whether time is up
  std::function<void()> report = [] {};               // called after every pattern, left out or not
};

// Returns the node's cores that may be used, cache by cache.
std::vector<uint32_t> cores_in_row(const Machine& machine, uint32_t node);

// Whether measuring for so many seconds may find more than is known: patterns were left out, and
// this is at least twice the time that they had.
bool is_worth_measuring(const Contention& known, double seconds);

// Returns the better of two measurements of the same node. Curves of two measurements cannot be
// mixed, so it is `found`, unless `found` lacks patterns and `known` lacks none or had more time
// for them.
const Contention& newer_of(const Contention& known, const Contention& found);

// Returns how many patterns measure_contention() reports; 0 where it measures nothing on the node.
uint32_t contention_patterns(const Machine& machine, uint32_t node);
Contention measure_contention(const Machine& machine, uint32_t node, const ContentionProbe& probe);

// Returns the bytes a second with so many threads at work on each of the node's cores, in a row.
double contended_read(const Contention& contention, std::span<const uint32_t> threads);
// Returns the rate with one thread on every core.
double full_read(const Contention& contention);
// Returns the highest rate of any pattern.
double max_read(const Contention& contention);

// Whether all numbers are such as measure_contention() can give.
bool is_sound(const Contention& contention);

}  // namespace hearth
