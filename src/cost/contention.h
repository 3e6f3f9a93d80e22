// Measures what threads of a node lose when other threads of it work at the same time. It measures
// how much k cores read together, for cores in several positions and for one and two threads a
// core, and how much they compute. From that it infers sharing that the system does not report:
// cores in a row that share something too slow for all of them (a port of a cache, an L3 tag;
// Sandwich, section 2), and rates that fall when more cores work.
//
//   Contention contention = measure_contention(machine, node, probe);
//   double rate = contended_read(contention, {1, 1, 1, 0, 1, 1, 1, 0});   // of three in four cores
//
// The model has two levels. A cluster is `cluster` cores in a row; k cores of one cluster read g(k)
// if no other cluster works. The sum of g over all clusters is their demand w on the node. The node
// then gives F(w), a curve with straight lines between all measured points. Each curve is of
// patterns with the same number of threads on every working core. If some cores have one thread and
// some have two, the rate lies between the two curves.
//
// The measured patterns are: k cores in a row, for k up to four, half of all and a cache's; k cores
// as far apart as possible; the first one, two or three of every two, three or four cores in a row;
// all cores. These are a few dozen, however many cores there are. If the time is too short, only up
// to four cores in a row and all cores are measured. Then clusters are not looked for, and the
// result says so (`whole`).
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
// The limit on the cores of a node in files: more than any node has.
inline constexpr uint32_t kMaxNodeCores = 1u << 16;

struct Contention {
  // The rates when every working core has the same number of threads.
  struct Way {
    std::vector<double> cluster_read;             // [k - 1]: g(k), bytes a second
    std::vector<std::pair<double, double>> node;  // w and F(w), by rising w
    // How much one core computes while all cores work, as a part of what it computes with one
    // thread while the others rest.
    double ops = 1;
  };
  uint32_t cores = 0;  // of the node; 0: too few or too different, so nothing is known
  uint32_t cluster = 1;
  std::vector<Way> ways;  // [threads a core - 1], one or two
  bool whole = true;      // whether all patterns were measured
  double seconds = 0;     // what patterns had, if some were left out
};

// The functions that measure, on the given PUs of one node. `read` and `ops` return how many bytes
// the PUs' threads read together, and how many operations they do, each a second. They may use any
// units.
struct ContentionProbe {
  std::function<double(const std::vector<uint32_t>&pus)> read, ops;
  std::function<bool()> late = [] { return false; };  // whether the time is over
  std::function<void()> report = [] {};               // called after every pattern, left out or not
};

// Returns the node's usable cores, those under one cache next to each other.
std::vector<uint32_t> cores_in_row(const Machine& machine, uint32_t node);

// Whether a measurement of so many seconds may find more than is known: `known` lacks patterns, and
// had at most half of these seconds for them.
bool is_worth_measuring(const Contention& known, double seconds);

// Returns the better of two measurements of one node; their curves cannot be mixed. That is
// `found`, unless `found` lacks patterns while `known` has them all or had more time for them.
const Contention& newer_of(const Contention& known, const Contention& found);

// Returns how many patterns measure_contention() reports; 0 where it measures nothing on the node.
uint32_t contention_patterns(const Machine& machine, uint32_t node);
Contention measure_contention(const Machine& machine, uint32_t node, const ContentionProbe& probe);

// Returns the bytes a second that a node reads if its cores, in a row, have these numbers of
// working threads.
double contended_read(const Contention& contention, std::span<const uint32_t> threads);
// Returns the rate if every core has one thread.
double full_read(const Contention& contention);
// Returns the highest rate of all patterns.
double max_read(const Contention& contention);

// Whether all numbers are ones that measure_contention() can return.
bool is_sound(const Contention& contention);

}  // namespace hearth
