// Measures what threads of a node lose by working beside each other: how much k of its cores read
// together, wherever they stand, with one thread a core and with two, and how much they compute. Of
// that it finds what the system does not tell: cores in a row that share something that does not
// serve them all (a port of a cache, an L3 tag; Sandwich, section 2), and curves that fall.
//
//   Contention contention = measure_contention(machine, node, probe);
//   double rate = contended_read(contention, {1, 1, 1, 0, 1, 1, 1, 0});   // of three in four cores
//
// The model has two levels. A cluster is `cluster` cores in a row; k cores of one alone read g(k).
// What clusters read alone is what they want of the node, w, the sum of their g, and the node gives
// F(w), through all that was measured, between which it is straight. Both are of patterns with as
// many threads on every core at work; a pattern of cores with one and with two is between these.
//
// Patterns that are measured: k cores in a row, up to four, half of all and a cache's; k cores as
// far apart as can be; of every two, three or four cores in a row the first one, two or three; all.
// A few dozen, whatever the number of cores. Where that takes too long, the first and the last of
// these remain, clusters are not looked for, and what is found says so.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "topology/machine.h"

namespace hearth {

// Cores in a row that are thought to share something, at most.
inline constexpr uint32_t kMostCluster = 4;
// The limit on cores of a node, more than any node has.
inline constexpr uint32_t kMostNodeCores = 1u << 16;

struct Contention {
  // The rates with so many threads on every core at work.
  struct Way {
    std::vector<double> cluster_read;             // [k - 1]: g(k), bytes a second
    std::vector<std::pair<double, double>> node;  // w and F(w), by rising w
    // Operations of a core where all are at work, as a part of one thread's alone.
    double ops = 1;
  };
  uint32_t cores = 0;  // of the node; 0: it says nothing, since cores are few or not alike
  uint32_t cluster = 1;
  std::vector<Way> ways;  // [threads a core - 1], one or two
  bool whole = true;      // no pattern was left out
  double seconds = 0;     // that patterns had where some were left out
};

// Bytes that so many threads on PUs of one node read together a second, and operations that they
// do. Higher is better; units are whatever they are.
struct ContentionProbe {
  std::function<double(const std::vector<uint32_t>&pus)> read, ops;
  std::function<bool()> late = [] { return false; };  // whether to leave out what can be
  std::function<void()> report = [] {};               // after every pattern, left out or not
};

// The node's cores that may be used, cache by cache.
std::vector<uint32_t> cores_in_row(const Machine& machine, uint32_t node);

// Whether measuring for so long may find more than is known: patterns that were left out, in twice
// the time that they had.
bool is_worth_measuring(const Contention& known, double seconds);

// Returns what is known once the same node was measured again. A curve comes of one measuring, so
// `found` replaces all of `known`, unless `known` has patterns that `found` lacks, or had more time
// for them.
const Contention& newer_of(const Contention& known, const Contention& found);

// Patterns that measure_contention() reports; 0 where it says nothing of the node.
uint32_t contention_patterns(const Machine& machine, uint32_t node);
Contention measure_contention(const Machine& machine, uint32_t node, const ContentionProbe& probe);

// Bytes a second where so many threads work on each of the node's cores, in a row.
double contended_read(const Contention& contention, std::span<const uint32_t> threads);
// Returns the rate with one thread on every core.
double full_read(const Contention& contention);
// The most that any pattern reads.
double most_read(const Contention& contention);

// Whether numbers are of a kind that measure_contention() gives.
bool is_sound(const Contention& contention);

}  // namespace hearth
