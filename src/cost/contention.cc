#include "cost/contention.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/check.h"

namespace hearth {
namespace {

using Places = std::vector<uint32_t>;  // indices of cores in the row, ascending

// Patterns whose demands differ by less than this part make one point of the curve.
constexpr double kAlike = 0.01;
// Clusters are taken as real if they explain a part kExplains of the error that a model without
// clusters has. That error must also exceed kScatter, the scatter of measurements.
constexpr double kExplains = 0.5, kScatter = 0.02;

struct Pattern {
  Places cores;
  double read = 0;
};

// Returns for each of the node's caches how many cores of the row are under it.
std::vector<uint32_t> cache_sizes(const Machine& machine, uint32_t node) {
  std::vector<uint32_t> sizes;
  for (uint32_t llc : machine.nodes[node].llcs) {
    const auto count = static_cast<uint32_t>(std::ranges::count_if(
        machine.llcs[llc].cores, [&](uint32_t core) { return machine.core_allowed(core); }));
    if (count > 0) sizes.push_back(count);
  }
  return sizes;
}

bool divides_all(uint32_t cluster, const std::vector<uint32_t>& sizes) {
  return std::ranges::all_of(sizes, [&](uint32_t size) { return size % cluster == 0; });
}

// Returns the patterns to measure. Those that every curve needs come first: up to four cores in a
// row, and all cores.
std::vector<Pattern> patterns_of(uint32_t cores, const std::vector<uint32_t>& caches) {
  std::vector<Pattern> patterns;
  auto add = [&](Places places) {
    const bool known = std::ranges::any_of(
        patterns, [&](const Pattern& pattern) { return pattern.cores == places; });
    if (!known) patterns.push_back({std::move(places)});
  };
  auto in_row = [&](uint32_t count) {
    Places places(std::min(count, cores));
    std::iota(places.begin(), places.end(), 0u);
    add(std::move(places));
  };
  for (uint32_t k = 1; k <= kMaxCluster; ++k) in_row(k);
  for (uint32_t k : {cores, std::max(1u, cores / 2), caches[0]}) in_row(k);
  for (uint32_t k = 2; k < cores; k += std::max(1u, k / 2)) {
    Places apart;
    for (uint32_t i = 0; i < k; ++i) apart.push_back(i * cores / k);
    add(std::move(apart));
  }
  for (uint32_t of = 2; of <= kMaxCluster; ++of) {
    for (uint32_t k = 1; k < of && of < cores && divides_all(of, caches); ++k) {
      Places some;
      for (uint32_t i = 0; i < cores; ++i) {
        if (i % of < k) some.push_back(i);
      }
      add(std::move(some));
    }
  }
  return patterns;
}

bool is_needed(const Pattern& pattern, uint32_t cores) {
  const size_t k = pattern.cores.size();
  return k == cores || (k <= kMaxCluster && pattern.cores.back() + 1 == k);
}

// Returns g(1) to g(cluster), the rates of the patterns with 1 to `cluster` cores in a row.
std::vector<double> cluster_curve(const std::vector<Pattern>& patterns, uint32_t cluster) {
  std::vector<double> curve(cluster, 0);
  for (const Pattern& pattern : patterns) {
    const size_t k = pattern.cores.size();
    if (k <= cluster && pattern.cores.back() + 1 == k) curve[k - 1] = pattern.read;
  }
  return curve;
}

double wanted(const std::vector<double>& cluster_read, const Places& cores) {
  const size_t cluster = cluster_read.size();
  double sum = 0;
  for (size_t i = 0; i < cores.size();) {
    size_t k = 0;
    const size_t which = cores[i] / cluster;
    for (; i < cores.size() && cores[i] / cluster == which; ++i) ++k;
    sum += cluster_read[k - 1];
  }
  return sum;
}

using Curve = std::vector<std::pair<double, double>>;

// Returns the value at x of the line from zero through all points. Beyond the last point, the line
// is flat.
double on_curve(const Curve& curve, double x) {
  std::pair<double, double> before{0, 0};
  for (const auto& point : curve) {
    if (x <= point.first) {
      const double part = (x - before.first) / (point.first - before.first);
      return before.second + part * (point.second - before.second);
    }
    before = point;
  }
  return before.second;
}

// Returns the curve F(w) through the points of all patterns but the one with index `without`.
Curve node_curve(const std::vector<Pattern>& patterns, const std::vector<double>& cluster_read,
                 size_t without = SIZE_MAX) {
  Curve points;
  for (size_t p = 0; p < patterns.size(); ++p) {
    if (p != without)
      points.emplace_back(wanted(cluster_read, patterns[p].cores), patterns[p].read);
  }
  std::sort(points.begin(), points.end());
  Curve curve;
  for (size_t i = 0; i < points.size();) {
    double x = 0, y = 0;
    const size_t first = i;
    while (i < points.size() && points[i].first <= points[first].first * (1 + kAlike)) {
      x += points[i].first;
      y += points[i++].second;
    }
    const auto count = static_cast<double>(i - first);
    curve.emplace_back(x / count, y / count);
  }
  return curve;
}

// Tells how badly the patterns fit clusters of this size. Each pattern is predicted by the curve of
// the others; returns the root mean square of the relative errors.
double unexplained(const std::vector<Pattern>& patterns, uint32_t cluster) {
  const std::vector<double> curve = cluster_curve(patterns, cluster);
  const double most = node_curve(patterns, curve).back().first;
  double squares = 0;
  for (size_t p = 0; p < patterns.size(); ++p) {
    const double want = wanted(curve, patterns[p].cores);
    // The curve of the other patterns ends before this demand, so it predicts nothing for it.
    if (want > most * (1 - kAlike)) continue;
    const double fitted = on_curve(node_curve(patterns, curve, p), want);
    const double off = (fitted - patterns[p].read) / patterns[p].read;
    squares += off * off;
  }
  return std::sqrt(squares / static_cast<double>(patterns.size()));
}

uint32_t find_cluster(const std::vector<Pattern>& patterns, uint32_t cores,
                      const std::vector<uint32_t>& caches) {
  const double without = unexplained(patterns, 1);
  if (without <= kScatter) return 1;
  uint32_t best = 1;
  double least = kExplains * without;
  for (uint32_t cluster = 2; cluster <= kMaxCluster; ++cluster) {
    if (cluster >= cores || !divides_all(cluster, caches)) continue;
    const double off = unexplained(patterns, cluster);
    if (off < least) {
      best = cluster;
      least = off;
    }
  }
  return best;
}

// Returns the first `threads` PUs of each of the cores.
std::vector<uint32_t> pus_of(const Machine& machine, const std::vector<uint32_t>& row,
                             const Places& places, size_t threads) {
  std::vector<uint32_t> pus;
  for (uint32_t place : places) {
    size_t left = threads;
    for (uint32_t pu : machine.cores[row[place]].pus) {
      if (left == 0 || !machine.is_allowed(pu)) continue;
      pus.push_back(pu);
      --left;
    }
  }
  return pus;
}

// Returns how many usable PUs every core has; 0 if cores differ in that.
size_t threads_a_core(const Machine& machine, const std::vector<uint32_t>& row) {
  auto usable = [&](uint32_t core) {
    return static_cast<size_t>(std::ranges::count_if(
        machine.cores[core].pus, [&](uint32_t pu) { return machine.is_allowed(pu); }));
  };
  for (uint32_t core : row) {
    const bool alike = machine.cores[core].kind == machine.cores[row[0]].kind;
    if (!alike || usable(core) != usable(row[0])) return 0;
  }
  return usable(row[0]);
}

// Returns up to how many threads a core are measured; 0 if nothing is.
size_t ways_of(const Machine& machine, const std::vector<uint32_t>& row) {
  return row.size() < 2 ? 0 : std::min<size_t>(threads_a_core(machine, row), 2);
}

double read_of(const Contention& contention, size_t way, const Places& cores) {
  const Contention::Way& of = contention.ways[way];
  return on_curve(of.node, wanted(of.cluster_read, cores));
}

}  // namespace

std::vector<uint32_t> cores_in_row(const Machine& machine, uint32_t node) {
  std::vector<uint32_t> row;
  for (uint32_t llc : machine.nodes[node].llcs) {
    for (uint32_t core : machine.llcs[llc].cores) {
      if (machine.core_allowed(core)) row.push_back(core);
    }
  }
  return row;
}

uint32_t contention_patterns(const Machine& machine, uint32_t node) {
  const std::vector<uint32_t> row = cores_in_row(machine, node);
  const size_t ways = ways_of(machine, row);
  if (ways == 0) return 0;
  const auto cores = static_cast<uint32_t>(row.size());
  return static_cast<uint32_t>(ways * patterns_of(cores, cache_sizes(machine, node)).size());
}

bool is_worth_measuring(const Contention& known, double seconds) {
  constexpr double kMuchLonger = 2;
  return !known.whole && seconds >= kMuchLonger * known.seconds;
}

const Contention& newer_of(const Contention& known, const Contention& found) {
  const bool less = !found.whole && (known.whole || known.seconds > found.seconds);
  return less && known.cores == found.cores ? known : found;
}

Contention measure_contention(const Machine& machine, uint32_t node, const ContentionProbe& probe) {
  const std::vector<uint32_t> row = cores_in_row(machine, node);
  const size_t ways = ways_of(machine, row);
  Contention found;
  if (ways == 0) return found;
  const auto cores = static_cast<uint32_t>(row.size());
  found.cores = cores;
  const std::vector<uint32_t> caches = cache_sizes(machine, node);
  const std::vector<Pattern> all = patterns_of(cores, caches);
  Places every(cores);
  std::iota(every.begin(), every.end(), 0u);
  const double one = probe.ops(pus_of(machine, row, {0}, 1));
  for (size_t way = 1; way <= ways; ++way) {
    std::vector<Pattern> patterns;
    for (const Pattern& pattern : all) {
      if (is_needed(pattern, cores) || !probe.late()) {
        const double read = probe.read(pus_of(machine, row, pattern.cores, way));
        HEARTH_CHECK(read > 0, "something is read");
        patterns.push_back({pattern.cores, read});
      }
      probe.report();
    }
    const bool whole = patterns.size() == all.size();
    found.whole = found.whole && whole;
    if (way == 1 && whole) found.cluster = find_cluster(patterns, cores, caches);
    Contention::Way& of = found.ways.emplace_back();
    of.cluster_read = cluster_curve(patterns, found.cluster);
    of.node = node_curve(patterns, of.cluster_read);
    of.ops = probe.ops(pus_of(machine, row, every, way)) / (one * cores);
    // A thread that has its core for itself cannot compute more than a thread that works while the
    // others rest. Only the scatter of clock rates can make it look so.
    if (way == 1) of.ops = std::min(1.0, of.ops);
  }
  return found;
}

double contended_read(const Contention& contention, std::span<const uint32_t> threads) {
  HEARTH_CHECK(threads.size() == contention.cores, "of all cores of the node");
  Places busy;
  double twice = 0;
  for (uint32_t i = 0; i < threads.size(); ++i) {
    if (threads[i] == 0) continue;
    busy.push_back(i);
    twice += threads[i] > 1 ? 1 : 0;
  }
  if (busy.empty()) return 0;
  const double once = read_of(contention, 0, busy);
  if (twice == 0 || contention.ways.size() < 2) return once;
  const double part = twice / static_cast<double>(busy.size());
  return (1 - part) * once + part * read_of(contention, 1, busy);
}

double full_read(const Contention& contention) {
  return contended_read(contention, std::vector<uint32_t>(contention.cores, 1));
}

double max_read(const Contention& contention) {
  double most = 0;
  for (const Contention::Way& way : contention.ways) {
    for (const auto& [want, read] : way.node) most = std::max(most, read);
  }
  return most;
}

bool is_sound(const Contention& contention) {
  if (contention.cores == 0) return contention.ways.empty();
  const uint32_t cores = contention.cores, cluster = contention.cluster;
  if (cores < 2 || cores > kMaxNodeCores || cluster == 0 || cluster > kMaxCluster ||
      cluster > cores || contention.ways.empty() || contention.ways.size() > 2) {
    return false;
  }
  return std::ranges::all_of(contention.ways, [&](const Contention::Way& way) {
    double before = 0;
    for (const auto& [want, read] : way.node) {
      if (!(want > before) || !(read > 0)) return false;
      before = want;
    }
    return way.cluster_read.size() == contention.cluster && !way.node.empty() && way.ops > 0 &&
           std::ranges::all_of(way.cluster_read, [](double read) { return read > 0; });
  });
}

}  // namespace hearth
