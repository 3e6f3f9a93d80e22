#include "cli/topo_machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "base/bytes_text.h"
#include "base/count_text.h"
#include "base/number_list.h"
#include "base/printable.h"
#include "cli/load.h"
#include "topology/cpu_features.h"
#include "topology/placement.h"

namespace hearth {

Machine named_machine(const std::string& name) {
  constexpr std::string_view kSynthetic = "synthetic ";
  if (name.starts_with(kSynthetic)) return Machine::from_synthetic(name.substr(kSynthetic.size()));
  return Machine::from_xml(name);
}

std::string ranges_text(const std::vector<uint32_t>& numbers) {
  return numbers.empty() ? "none" : number_list_text(numbers);
}

void json_numbers(Json& json, const char* key, const std::vector<uint32_t>& numbers) {
  json.key(key).array();
  for (uint32_t number : numbers) json.number(number);
  json.end_array();
}

namespace {

// Returns the PUs of a cache group, the first hyper-threads of all cores, then the second: "PUs
// 0-7, 64-71".
std::string pus_text(const Machine& machine, const LlcGroup& llc) {
  std::string text;
  for (size_t thread = 0;; ++thread) {
    std::vector<uint32_t> pus;
    for (uint32_t core : llc.cores) {
      const std::vector<uint32_t>& of_core = machine.cores[core].pus;
      if (thread < of_core.size()) pus.push_back(of_core[thread]);
    }
    if (pus.empty()) return text;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", ranges_text(pus));
  }
}

size_t allowed_cores(const Machine& machine, const LlcGroup& llc) {
  return std::count_if(llc.cores.begin(), llc.cores.end(),
                       [&](uint32_t core) { return machine.core_allowed(core); });
}

std::string kinds_text(const Machine& machine, const LlcGroup& llc) {
  if (machine.kinds.size() < 2 || llc.cores.empty()) return {};
  uint32_t kind = machine.cores[llc.cores[0]].kind;
  std::string name = machine.kinds[kind].name;
  return fmt::format(", kind {}{}", kind, name.empty() ? "" : fmt::format(" ({})", name));
}

std::string node_text(const Machine& machine, const NumaNode& node, bool live) {
  std::string out = fmt::format("  node {}: {}", node.os_index, bytes_text(node.memory_bytes));
  if (live) {
    out += fmt::format(", {} available, {} and {} free", bytes_text(node.available_bytes),
                       count_text(node.free_2m, "huge page") + " of 2 MiB",
                       count_text(node.free_1g, "huge page") + " of 1 GiB");
  }
  if (!node.memory_allowed) out += ", memory not allowed by cpuset";
  out += "\n";
  for (uint32_t index : node.llcs) {
    const LlcGroup& llc = machine.llcs[index];
    std::string cache = llc.bytes > 0 ? bytes_text(llc.bytes) : "unknown size";
    size_t allowed = allowed_cores(machine, llc);
    out += fmt::format("    last-level cache {}: {}, PUs {}{}{}\n", cache,
                       count_text(llc.cores.size(), "core"), pus_text(machine, llc),
                       kinds_text(machine, llc),
                       allowed < llc.cores.size() ? fmt::format(", {} allowed", allowed) : "");
  }
  return out;
}

std::string distances_text(const Machine& machine) {
  if (machine.nodes.size() < 2) return {};
  std::string out =
      fmt::format("distances{}\n", machine.distances_known ? "" : " (the firmware tells none)");
  for (const std::vector<uint32_t>& row : machine.distances) {
    out += " ";
    for (uint32_t distance : row) out += fmt::format("{:>5}", distance);
    out += "\n";
  }
  return out;
}

void json_node(Json& json, const Machine& machine, const NumaNode& node) {
  json.object().key("node").number(node.os_index);
  json.key("memory_bytes").number(node.memory_bytes);
  json.key("available_bytes").number(node.available_bytes);
  json.key("free_2m_pages").number(node.free_2m).key("free_1g_pages").number(node.free_1g);
  json.key("memory_allowed").boolean(node.memory_allowed).key("caches").array();
  for (uint32_t index : node.llcs) {
    const LlcGroup& llc = machine.llcs[index];
    json.object().key("bytes").number(llc.bytes).key("cores").array();
    for (uint32_t core : llc.cores) {
      json.object().key("core").number(core).key("kind").number(machine.cores[core].kind);
      json_numbers(json, "pus", machine.cores[core].pus);
      json.end_object();
    }
    json.end_array().end_object();
  }
  json.end_array().end_object();
}

void json_limits(Json& json, const Machine& machine) {
  json_numbers(json, "allowed_pus", machine.allowed_pus);
  json.key("cpu_quota").real(machine.cpu_quota).key("memory_limit").number(machine.memory_limit);
  json.key("memory_available").number(machine.memory_available);
  json.key("transparent_huge_pages").text(thp_mode_name(machine.thp));
  json.key("default_threads").number(default_thread_count(machine));
}

std::string isa_text() {
  CpuFeatures features = detect_cpu_features();
  const char* forced = std::getenv("HEARTH_ISA");
  bool is_forced = forced != nullptr && *forced != '\0';
  Isa running = environment_isa(features);
  std::string out =
      fmt::format("kernels: {}{}; features: {}\n", isa_name(running),
                  is_forced ? " (forced by HEARTH_ISA)" : "", features_text(features));
  for (const std::string& line : lacking_text(running, features)) {
    out += fmt::format("not here: {}\n", line);
  }
  return out;
}

}  // namespace

std::string machine_text(const Machine& machine) {
  bool live = machine.source == MachineSource::kLive;
  std::string out = fmt::format("machine: {}{}{}\n", printable(machine.description),
                                machine.cpu_name.empty() ? "" : ", ", printable(machine.cpu_name));
  for (size_t p = 0; p < machine.packages.size(); ++p) {
    out += fmt::format("package {}\n", p);
    for (uint32_t node : machine.packages[p].nodes) {
      out += node_text(machine, machine.nodes[node], live);
    }
  }
  out += distances_text(machine);
  out += fmt::format("may use PUs {}: {}\n", ranges_text(machine.allowed_pus),
                     count_text(machine.allowed_core_count(), "core"));
  if (machine.cpu_quota) out += fmt::format("CPU quota: {:.2f} cores\n", *machine.cpu_quota);
  if (machine.memory_limit) {
    out += fmt::format("cgroup's memory limit: {}\n", bytes_text(*machine.memory_limit));
  }
  if (live) {
    out += fmt::format("memory available: {}; transparent huge pages: {}\n",
                       bytes_text(machine.memory_available), thp_mode_name(machine.thp));
  }
  out += fmt::format("threads by default: {}\n", default_thread_count(machine));
  if (live) out += isa_text();
  return out;
}

void json_machine(Json& json, const Machine& machine) {
  json.key("machine").text(machine.description).key("cpu").text(machine.cpu_name);
  if (machine.source == MachineSource::kLive) {
    CpuFeatures features = detect_cpu_features();
    json.key("isa").text(isa_name(environment_isa(features)));
    json.key("features").text(features_text(features));
  }
  json.key("packages").array();
  for (const Package& package : machine.packages) {
    json.object().key("nodes").array();
    for (uint32_t node : package.nodes) json_node(json, machine, machine.nodes[node]);
    json.end_array().end_object();
  }
  json.end_array().key("distances").array();
  for (const std::vector<uint32_t>& row : machine.distances) {
    json.array();
    for (uint32_t distance : row) json.number(distance);
    json.end_array();
  }
  json.end_array().key("distances_known").boolean(machine.distances_known);
  json_limits(json, machine);
}

}  // namespace hearth
