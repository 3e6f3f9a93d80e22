#include "cli/topo_bandwidth.h"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <span>

#include "base/bytes_text.h"
#include "base/progress.h"
#include "cli/load.h"
#include "cost/bandwidth_file.h"
#include "topology/cpu_features.h"

namespace hearth {
namespace {

constexpr double kGiga = 1e9;

std::string rate_text(double rate) {
  return rate > 0 ? fmt::format("{:.1f}", rate / kGiga) : std::string("-");
}

std::string contention_text(const Contention& contention) {
  if (contention.cores == 0) return {};
  std::string out = fmt::format("{} cores of a node together: {} GB/s; the best of them {} GB/s",
                                contention.cores, rate_text(full_read(contention)),
                                rate_text(max_read(contention)));
  if (contention.cluster > 1) {
    out += fmt::format("; {} in a row share something", contention.cluster);
  }
  out += fmt::format("; {:.2f} of a core's operations each", contention.ways[0].ops);
  if (contention.ways.size() > 1) {
    const std::vector<uint32_t> twos(contention.cores, 2);
    out += fmt::format(", with second threads {:.2f} and {} GB/s", contention.ways[1].ops,
                       rate_text(contended_read(contention, twos)));
  }
  return out + "\n";
}

}  // namespace

std::function<void(uint32_t, uint32_t)> bandwidth_progress(const Interrupts* interrupts) {
  auto progress = std::make_shared<std::optional<Progress>>();
  return [progress, interrupts](uint32_t done, uint32_t total) {
    auto rates = [](uint64_t n) { return fmt::format("{} rates", n); };
    if (!*progress) progress->emplace("measuring", total, rates);
    (*progress)->update(done);
    if (done == total) progress->reset();
    if (interrupts != nullptr) interrupts->die_if_received();
  };
}

BandwidthTable measure_with_progress(const Machine& machine, BandwidthOptions options) {
  options.report = bandwidth_progress();
  return measure_bandwidth(machine, environment_isa(detect_cpu_features()), options);
}

std::string bandwidth_text(const BandwidthTable& table) {
  std::string out = fmt::format(
      "read bandwidth in GB/s{}\n  {:<24}",
      table.buffer_bytes > 0 ? fmt::format(", over {}", bytes_text(table.buffer_bytes)) : "",
      "threads of \\ memory of");
  for (uint32_t node : table.nodes) out += fmt::format(" {:>8}", fmt::format("node {}", node));
  out += "\n";
  for (size_t i = 0; i < table.nodes.size(); ++i) {
    if (table.threads[i] == 0) continue;
    out += fmt::format("  {:<24}", fmt::format("node {} ({})", table.nodes[i], table.threads[i]));
    for (double rate : table.read[i]) out += fmt::format(" {:>8}", rate_text(rate));
    out += "\n";
  }
  if (table.core_read > 0) {
    out += fmt::format("one thread: {} GB/s", rate_text(table.core_read));
    for (size_t u = 0; u < kArithmeticUnits; ++u) {
      if (table.core_ops[u] <= 0) continue;
      out += fmt::format(", {} {} GOPS", arithmetic_unit_name(static_cast<ArithmeticUnit>(u)),
                         rate_text(table.core_ops[u]));
    }
    out += "\n";
  }
  if (table.contention) out += contention_text(*table.contention);
  if (table.is_short()) {
    out += fmt::format("memory for {} was not free: caches may have helped\n",
                       bytes_text(table.wanted_bytes));
  }
  return out;
}

void write_bandwidth(AtomicFile& file, const Machine& machine, const BandwidthTable& table) {
  Json json;
  json_bandwidth(json, machine, table);
  std::string line = json.line();
  file.write(std::as_bytes(std::span(line)));
  file.commit();
}

}  // namespace hearth
