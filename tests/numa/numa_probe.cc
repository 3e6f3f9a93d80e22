// Loads models on a computer with NUMA nodes, under plans of all kinds, and asks the kernel about
// the result: the node of every page of the engine's memory, and the PUs of every thread. Also
// compares the logits of all plans. Runs inside the machine of tests/numa/vm.py.
//
//   numa_probe [--few]     the models of HEARTH_GOLDEN_DIR; --few: only the plans of kRows with
//                          `few`
//
// It prints a line for each model and plan, followed by its faults, and exits with status 1 if
// there are any.
#include <fmt/format.h>
#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "../models/golden_set.h"
#include "base/error.h"
#include "engine/engine.h"
#include "engine/engine_plan.h"
#include "models/registry.h"
#include "threads/pin.h"

namespace hearth {
namespace {

struct Row {
  uint32_t shards, threads, prefill_groups, decode_groups;
  bool few = false;
  GroupSync sync = GroupSync::kAsync;
  bool interleave = false;
  ExpertCut experts = ExpertCut::kCut;
};
constexpr GroupSync kLockstep = GroupSync::kLockstep;

// The plans. All rows are compared with the first. A row is left out and counted if it has more
// shards than nodes with threads, or more threads than the computer.
constexpr Row kRows[] = {
    {.shards = 1, .threads = 1, .prefill_groups = 1, .decode_groups = 1, .few = true},
    {.shards = 1, .threads = 8, .prefill_groups = 4, .decode_groups = 1, .few = true},
    {.shards = 1, .threads = 8, .prefill_groups = 2, .decode_groups = 4, .sync = kLockstep},
    {.shards = 2, .threads = 8, .prefill_groups = 2, .decode_groups = 2, .few = true},
    {.shards = 2, .threads = 8, .prefill_groups = 1, .decode_groups = 4},
    {.shards = 2, .threads = 2, .prefill_groups = 2, .decode_groups = 1},
    {.shards = 3, .threads = 6, .prefill_groups = 3, .decode_groups = 3, .few = true},
    {.shards = 3, .threads = 7, .prefill_groups = 1, .decode_groups = 3, .sync = kLockstep},
    {.shards = 4, .threads = 8, .prefill_groups = 4, .decode_groups = 4, .few = true},
    {.shards = 4,
     .threads = 8,
     .prefill_groups = 4,
     .decode_groups = 4,
     .few = true,
     .sync = kLockstep},
    {.shards = 4,
     .threads = 4,
     .prefill_groups = 4,
     .decode_groups = 1,
     .few = true,
     .experts = ExpertCut::kSpread},
    {.shards = 4,
     .threads = 8,
     .prefill_groups = 2,
     .decode_groups = 4,
     .experts = ExpertCut::kSpread},
    {.shards = 4, .threads = 7, .prefill_groups = 4, .decode_groups = 2},
    {.shards = 4, .threads = 8, .prefill_groups = 1, .decode_groups = 2},
    {.shards = 4, .threads = 8, .prefill_groups = 2, .decode_groups = 8, .sync = kLockstep},
    {.shards = 4, .threads = 8, .prefill_groups = 4, .decode_groups = 4, .interleave = true},
    {.shards = 8, .threads = 8, .prefill_groups = 8, .decode_groups = 8},
    {.shards = 8, .threads = 8, .prefill_groups = 2, .decode_groups = 4, .sync = kLockstep},
};

std::string row_text(const Row& row) {
  return fmt::format("shards {}, threads {}, groups {} and {}{}{}{}", row.shards, row.threads,
                     row.prefill_groups, row.decode_groups,
                     row.sync == kLockstep ? " in lockstep" : "",
                     row.interleave ? ", interleaved" : "",
                     row.experts == ExpertCut::kSpread ? ", experts spread" : "");
}

EngineOptions options_of(const Row& row) {
  EngineOptions options;
  options.threads = row.threads;
  options.shards = row.shards;
  options.prefill_groups = row.prefill_groups;
  options.decode_groups = row.decode_groups;
  options.sync = row.sync;
  options.interleave = row.interleave;
  options.experts = row.experts;
  options.context = 256;
  // GoldenModel::shard_bound() holds for this type. f16 would widen differences in the last bits of
  // sums.
  options.kv_type = KvType::kF32;
  // This many sequences make each shard's pages fill transparent huge pages.
  options.sequences = 64;
  options.prefill_rows = 64;
  options.decode_rows = 4;
  options.outputs = 16;
  return options;
}

// Collects the faults of an engine, a sentence each.
class Faults {
 public:
  template <typename... Args>
  void add(fmt::format_string<Args...> text, Args&&... args) {
    ++count_;
    if (count_ <= kShown) list_ += "    " + fmt::format(text, std::forward<Args>(args)...) + "\n";
  }
  bool any() const { return count_ > 0; }
  std::string text() const {
    return count_ <= kShown ? list_ : list_ + fmt::format("    and {} more\n", count_ - kShown);
  }

 private:
  static constexpr size_t kShown = 8;
  size_t count_ = 0;
  std::string list_;
};

// Returns the nodes (the system's numbers) of all pages of a region; a negative errno for a page
// without memory. This thread touches the untouched pages here; they must come from the region's
// node all the same.
std::vector<int> page_nodes(const MemoryRegion& region, Faults* faults) {
  auto page = static_cast<uintptr_t>(getpagesize());
  auto begin = reinterpret_cast<uintptr_t>(region.address) & ~(page - 1);
  auto end = reinterpret_cast<uintptr_t>(region.address) + region.bytes;
  size_t count = (end - begin + page - 1) / page;
  std::vector<void*> pages;
  for (size_t i = 0; i < count; ++i) pages.push_back(reinterpret_cast<void*>(begin + i * page));
  std::vector<int> nodes(count, -ENOENT);
  if (madvise(pages[0], count * page, MADV_POPULATE_WRITE) != 0) {
    faults->add("{} of shard {} cannot be touched: {}", memory_kind_name(region.kind), region.shard,
                std::strerror(errno));
  }
  if (syscall(SYS_move_pages, 0, count, pages.data(), nullptr, nodes.data(), 0) != 0) {
    faults->add("move_pages: {}", std::strerror(errno));
  }
  return nodes;
}

void check_policy(const MemoryRegion& region, uint32_t node, Faults* faults) {
  int mode = -1;
  unsigned long mask[16] = {};
  if (syscall(SYS_get_mempolicy, &mode, mask, 8 * sizeof mask, region.address, MPOL_F_ADDR) != 0) {
    faults->add("get_mempolicy: {}", std::strerror(errno));
    return;
  }
  if (mode != MPOL_BIND || mask[0] != 1UL << node) {
    faults->add("{} of shard {} have policy {} over nodes {:#x}, not a binding to node {}",
                memory_kind_name(region.kind), region.shard, mode, mask[0], node);
  }
}

// Checks that pages of an interleaved engine are on all nodes that have memory.
void check_spread(const std::map<int, size_t>& spread, const Machine& machine, Faults* faults) {
  for (const NumaNode& node : machine.nodes) {
    if (node.memory_bytes > 0 && !spread.contains(static_cast<int>(node.os_index))) {
      faults->add("no interleaved page lies on node {}", node.os_index);
    }
  }
}

// Checks that every page of every region lies on the node of its shard. Returns the number of
// pages.
size_t check_memory_nodes(const Engine& engine, const Machine& machine, const EnginePlan& plan,
                          Faults* faults) {
  size_t pages = 0, bytes = 0;
  std::map<int, size_t> spread;  // interleaved pages by node
  for (const MemoryRegion& region : engine.regions()) {
    bytes += region.bytes;
    if (region.bytes == 0) continue;
    uint32_t home = machine.memory_node(plan.shard_nodes[region.shard]);
    uint32_t node = machine.nodes[home].os_index;
    const char* what = memory_kind_name(region.kind);
    if (region.node != home) {
      faults->add("{} of shard {} say node {}, not {}", what, region.shard, region.node, home);
    }
    std::vector<int> nodes = page_nodes(region, faults);
    pages += nodes.size();
    bool placed = region.kind != MemoryKind::kWeights && region.kind != MemoryKind::kKv;
    if (engine.options().interleave && !placed) {
      for (int where : nodes) ++spread[where];
      continue;
    }
    check_policy(region, node, faults);
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (nodes[i] == static_cast<int>(node)) continue;
      faults->add("{} of shard {}: page {} of {} lies on node {}, not {}", what, region.shard, i,
                  nodes.size(), nodes[i], node);
    }
  }
  if (engine.options().interleave) check_spread(spread, machine, faults);
  if (bytes != engine.memory().total()) {
    faults->add("the regions have {} bytes of {}", bytes, engine.memory().total());
  }
  return pages;
}

// Returns the thread ids by member. It finds the team's other threads by their names; this thread
// is member 0.
std::map<uint32_t, int> team_tids() {
  std::map<uint32_t, int> tids{{0, gettid()}};
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream comm(task.path() / "comm");
    std::string name, prefix = "hearth-";
    std::getline(comm, name);
    if (!name.starts_with(prefix)) continue;
    auto member = static_cast<uint32_t>(std::stoul(name.substr(prefix.size())));
    tids[member] = std::stoi(task.path().filename());
  }
  return tids;
}

bool kernel_has_pu_on(uint32_t pu, uint32_t node) {
  return std::filesystem::exists(fmt::format("/sys/devices/system/cpu/cpu{}/node{}", pu, node));
}

// Checks that every thread may run on its seat's PU and on no other, and that this PU is on the
// node of its shard. A plan with fewer shards than nodes cannot give all threads a shard on their
// node; returns how many threads have none.
uint32_t check_threads(const Machine& machine, const EnginePlan& plan, Faults* faults) {
  std::map<uint32_t, int> tids = team_tids();
  const std::vector<Seat>& seats = plan.placement.seats;
  if (tids.size() != seats.size()) {
    faults->add("the team has {} threads, the plan {} seats", tids.size(), seats.size());
  }
  uint32_t strangers = 0;
  std::set<uint32_t> homes;  // the nodes with memory nearest to the threads
  for (uint32_t m = 0; m < seats.size(); ++m) {
    std::vector<uint32_t> pus = tids.contains(m) ? get_affinity(tids[m]) : std::vector<uint32_t>{};
    if (pus != std::vector<uint32_t>{seats[m].pu}) {
      faults->add("thread {} may run on {} PUs ({}), not on PU {} alone", m, pus.size(),
                  pus.empty() ? -1 : static_cast<int>(pus[0]), seats[m].pu);
    }
    if (!kernel_has_pu_on(seats[m].pu, machine.nodes[seats[m].node].os_index)) {
      faults->add("PU {} of thread {} is not on node {}", seats[m].pu, m,
                  machine.nodes[seats[m].node].os_index);
    }
    uint32_t memory = machine.memory_node(seats[m].node);
    homes.insert(memory);
    strangers += memory != plan.shard_nodes[plan.decode.member_shards[m]];
  }
  if (homes.size() == plan.shard_nodes.size() && strangers > 0) {
    faults->add("{} threads sit away from their shards", strangers);
  }
  return strangers;
}

// Returns the logits of every position. Some tokens go into a step of the prefill plan, the others
// one by one. There are few tokens, since the emulator takes some 50 ns for a fused multiply-add.
std::vector<float> logits_of(Engine& engine, std::span<const int32_t> tokens) {
  constexpr size_t kChunk = 9, kSingle = 4;
  auto sequence = engine.new_sequence();
  std::vector<float> logits;
  tokens = tokens.first(std::min(tokens.size(), kChunk + kSingle));
  while (!tokens.empty()) {
    size_t count = tokens.size() > kSingle ? std::min(kChunk, tokens.size() - kSingle) : 1;
    StepRequest request{sequence.get(), tokens.first(count), Want::kAll};
    engine.step({&request, 1});
    for (size_t i = 0; i < count; ++i) {
      std::span<const float> row = engine.logits(i);
      logits.insert(logits.end(), row.begin(), row.end());
    }
    tokens = tokens.subspan(count);
  }
  return logits;
}

class Probe {
 public:
  explicit Probe(const GoldenModel& model) : model_(model), file_(open_model_source(model.path)) {}

  bool run(const Row& row) {
    Machine machine = Machine::live();
    Faults faults;
    std::string told;
    try {
      told = check(row, machine, &faults);
    } catch (const Error& error) {
      faults.add("{}", error.what());
    }
    fmt::print("{:<4} {}: {}{}\n{}", faults.any() ? "FAIL" : "ok", model_.name, row_text(row), told,
               faults.text());
    std::fflush(stdout);
    return !faults.any();
  }

 private:
  std::string check(const Row& row, const Machine& machine, Faults* faults) {
    Isa isa = available_isas(detect_cpu_features()).back();
    Engine engine(file_, make_spec(file_), machine, isa, options_of(row));
    EnginePlan plan = plan_engine(machine, engine.options());
    std::vector<float> logits = logits_of(engine, model_.tokens);
    size_t pages = check_memory_nodes(engine, machine, plan, faults);
    uint32_t strangers = check_threads(machine, plan, faults);
    for (const std::string& warning : engine.warnings()) faults->add("warning: {}", warning);

    if (first_.empty()) first_ = logits;
    const std::vector<float>& same =
        logits_.try_emplace({plan.shares, plan.experts}, logits).first->second;
    if (!same_bits(same, logits)) {
      faults->add("logits differ from those of another plan with the same cuts, by {:.3g} rms",
                  difference(same, logits).rms);
    }
    double away = difference(first_, logits).rms;
    if (!(away < model_.shard_bound() || same_bits(first_, logits))) {
      faults->add("logits are {:.3g} rms from those of one shard, {:.3g} are allowed", away,
                  model_.shard_bound());
    }
    return fmt::format(": pages {}, threads away {}, {:.2g} of {:.2g} rms", pages, strangers, away,
                       model_.shard_bound());
  }

  const GoldenModel& model_;
  ModelSource file_;
  std::vector<float> first_;  // logits of the first row
  // The logits of the first row for each cut, which is given by the shards' shares, and each
  // placing of experts.
  std::map<std::pair<std::vector<uint32_t>, ExpertCut>, std::vector<float>> logits_;
};

int probe(bool few) {
  Machine machine = Machine::live();
  size_t shards = plan_engine(machine, {}).shard_nodes.size();
  size_t run = 0, failed = 0, left_out = 0;
  std::vector<GoldenModel> models = read_golden_set();
  for (const char* list : {"moe_models", "mla_models", "hybrid_models"}) {
    for (GoldenModel& model : read_golden_set(list)) models.push_back(std::move(model));
  }
  for (const GoldenModel& model : models) {
    Probe probe(model);
    for (const Row& row : kRows) {
      if (few && !row.few) continue;
      if (row.shards > shards || row.threads > machine.allowed_pus.size()) {
        ++left_out;
        continue;
      }
      ++run;
      failed += !probe.run(row);
    }
  }
  fmt::print("{} of {} configurations failed; {} need more nodes\n", failed, run, left_out);
  return failed > 0 || run == 0;
}

}  // namespace
}  // namespace hearth

int main(int argc, char** argv) {
  return hearth::probe(argc > 1 && std::strcmp(argv[1], "--few") == 0);
}
