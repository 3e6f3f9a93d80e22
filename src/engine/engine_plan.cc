#include "engine/engine_plan.h"

#include <algorithm>
#include <optional>
#include <set>
#include <sstream>

#include "base/error.h"
#include "engine/engine_options.h"
#include "engine/shard_shares.h"
#include "plan/line_reader.h"

namespace hearth {
namespace {

// Version 2 differs from 1 only in the plans of the phases, whose own heads name their versions.
// Version 3 may have a part on streaming.
constexpr const char* kOldHeads[] = {"hearth-engine-plan 1", "hearth-engine-plan 2"};
constexpr const char* kHead = "hearth-engine-plan 3";
// Version 1 has no line for a ring.
constexpr const char* kOldStreamHead = "hearth-stream-plan 1";
constexpr const char* kStreamHead = "hearth-stream-plan 2";

// Chooses the nodes of `shards` shards (0: one on every node with threads and memory).
void place_shards(const Machine& machine, uint32_t shards, EnginePlan* plan) {
  std::vector<uint32_t> nodes;  // nodes with memory, the nearest to the seats
  for (const Seat& seat : plan->placement.seats) nodes.push_back(machine.memory_node(seat.node));
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  auto count = static_cast<uint32_t>(nodes.size());
  if (shards == 0) shards = count;
  if (shards > count) {
    fail(ErrorCode::kUsage,
         "the model cannot be split over {} NUMA nodes, as its threads run on {}: lower --shards, "
         "or allow more nodes",
         shards, count);
  }
  for (uint32_t s = 0; s < shards; ++s) plan->shard_nodes.push_back(nodes[s * count / shards]);
}

// Puts the seats into the order of their shards, and returns the shard of each. A seat's shard is
// the last one whose node is not after the seat's memory node.
std::vector<uint32_t> seat_by_shards(const Machine& machine, EnginePlan* plan) {
  auto shard_of = [&](const Seat& seat) {
    auto shard = std::upper_bound(plan->shard_nodes.begin(), plan->shard_nodes.end(),
                                  machine.memory_node(seat.node));
    auto before = static_cast<uint32_t>(shard - plan->shard_nodes.begin());
    return before > 0 ? before - 1 : 0;
  };
  std::vector<Seat>& seats = plan->placement.seats;
  std::stable_sort(seats.begin(), seats.end(),
                   [&](const Seat& a, const Seat& b) { return shard_of(a) < shard_of(b); });
  std::vector<uint32_t> member_shards;
  for (const Seat& seat : seats) member_shards.push_back(shard_of(seat));
  return member_shards;
}

Seat seat_on(const Machine& machine, uint32_t pu) {
  for (uint32_t c = 0; c < machine.cores.size(); ++c) {
    const Core& core = machine.cores[c];
    if (std::find(core.pus.begin(), core.pus.end(), pu) != core.pus.end()) {
      return {pu, c, core.node};
    }
  }
  fail(ErrorCode::kUsage,
       "the plan has a thread on CPU {}, which this machine does not have: make a plan on this "
       "machine",
       pu);
}

void read_line(const Machine& machine, LineReader& line, EnginePlan* plan) {
  std::string key = line.word();
  if (key == "thread_pus") {
    for (uint32_t pu : line.numbers()) plan->placement.seats.push_back(seat_on(machine, pu));
    check_pus(machine, plan->placement.pus());
  } else if (key == "shard_nodes") {
    for (uint32_t number : line.numbers()) {
      std::optional<uint32_t> node = machine.node_numbered(number);
      if (!node) {
        fail(ErrorCode::kUsage,
             "the plan has a shard on NUMA node {}, which this machine does not have: make a plan "
             "on this machine",
             number);
      }
      plan->shard_nodes.push_back(*node);
    }
  } else if (key == "shares") {
    plan->shares = line.numbers();
  } else if (key == "experts") {
    const std::string name = line.word();
    std::optional<ExpertCut> cut = expert_cut_named(name);
    if (!cut)
      fail(ErrorCode::kUsage, "the plan's experts are '{}'; they must be cut or spread", name);
    plan->experts = *cut;
  } else {
    fail(ErrorCode::kUsage, "the plan has an unknown line '{}'", key);
  }
}

// Reads the lines of a stream plan, in any order.
StreamChoice parse_stream(const std::vector<std::pair<std::string, uint32_t>>& lines,
                          bool has_ring) {
  StreamChoice stream;
  std::set<std::string> seen;
  for (const auto& [text, number] : lines) {
    LineReader line(text, number);
    if (line.at_end()) continue;
    const std::string key = line.word();
    uint32_t* value = key == "rows"                  ? &stream.rows
                      : key == "kept"                ? &stream.kept
                      : key == "berths"              ? &stream.berths
                      : key == "threshold"           ? &stream.threshold
                      : key == "experts" && has_ring ? &stream.experts
                                                     : nullptr;
    if (value == nullptr || !seen.insert(key).second) {
      fail(ErrorCode::kUsage, "the plan's streaming section has an unknown line '{}'", key);
    }
    *value = line.number();
    line.finish();
  }
  if (seen.size() != (has_ring ? 5 : 4)) {
    fail(ErrorCode::kUsage,
         "the plan's streaming section needs the lines rows, kept, berths{} threshold",
         has_ring ? ", experts and" : " and");
  }
  return stream;
}

std::string stream_text(const StreamChoice& stream) {
  return fmt::format("{}\nrows {}\nkept {}\nberths {}\nexperts {}\nthreshold {}\n", kStreamHead,
                     stream.rows, stream.kept, stream.berths, stream.experts, stream.threshold);
}

void check_stream(const StreamChoice& stream) {
  if (stream.rows < kMinPassRows || stream.rows > kMaxPassRows) {
    fail(ErrorCode::kUsage, "the plan's passes have {} rows; give {} to {}", stream.rows,
         kMinPassRows, kMaxPassRows);
  }
  if (stream.berths > kMaxBerths) {
    fail(ErrorCode::kUsage, "the plan has {} berths; give {} at most", stream.berths, kMaxBerths);
  }
  if (stream.experts != 0 && (stream.experts < kMinRing || stream.experts > kMaxRing)) {
    fail(ErrorCode::kUsage,
         "the plan's ring has {} experts; it must have {} to {}, or 0 for no ring", stream.experts,
         kMinRing, kMaxRing);
  }
}

}  // namespace

EnginePlan plan_engine(const Machine& machine, const EngineOptions& options,
                       const ModelPlacement* model) {
  if (options.plan) {
    const EnginePlan& saved = *options.plan;
    check_engine_plan(saved);
    if (model != nullptr && (saved.shard_nodes != model->shard_nodes ||
                             saved.shares != model->shares || saved.experts != model->experts)) {
      fail(ErrorCode::kUsage,
           "the plan splits the model differently from how it was loaded: load it again with this "
           "plan");
    }
    return saved;
  }
  EnginePlan plan;
  PlacementOptions where;
  where.threads = options.threads;
  where.nodes = options.nodes;
  where.pus = options.pus;
  plan.placement = place_threads(machine, where);
  if (model != nullptr) {
    plan.shard_nodes = model->shard_nodes;
  } else {
    place_shards(machine, options.shards, &plan);
  }
  std::vector<uint32_t> member_shards = seat_by_shards(machine, &plan);
  auto shards = static_cast<uint32_t>(plan.shard_nodes.size());
  plan.shares = model != nullptr
                    ? model->shares
                    : shares_by_threads(machine, plan.placement, member_shards, shards);
  // The default number of groups: one for each shard if every shard has threads, else one.
  std::set<uint32_t> inhabited(member_shards.begin(), member_shards.end());
  auto usual = inhabited.size() == shards ? shards : 1;
  auto phase = [&](Phase which, uint32_t rows, uint32_t groups) {
    return make_plan(which, rows, member_shards, shards, groups != 0 ? groups : usual);
  };
  plan.prefill = phase(Phase::kPrefill, options.prefill_rows, options.prefill_groups);
  plan.decode = phase(Phase::kDecode, options.decode_rows, options.decode_groups);
  plan.prefill.sync = plan.decode.sync = options.sync;
  plan.experts = model != nullptr ? model->experts : options.experts.value_or(ExpertCut::kCut);
  return plan;
}

void check_engine_plan(const EnginePlan& plan) {
  auto refuse = [](const std::string& why) { fail(ErrorCode::kUsage, "the plan {}", why); };
  check_plan(plan.prefill);
  check_plan(plan.decode);
  if (plan.prefill.phase != Phase::kPrefill || plan.decode.phase != Phase::kDecode) {
    refuse("must have the prefill phase first and the decode phase second");
  }
  if (plan.prefill.member_shards != plan.decode.member_shards) {
    refuse("must have the same member_shards in both phases, as threads stay on their nodes");
  }
  if (plan.prefill.member_count() != plan.placement.seats.size()) {
    refuse(fmt::format("has {} members, but {} thread_pus: give one for each member",
                       plan.prefill.member_count(), plan.placement.seats.size()));
  }
  size_t shards = plan.prefill.shard_count();
  if (plan.decode.shard_count() != shards || plan.shard_nodes.size() != shards ||
      plan.shares.size() != shards) {
    refuse("must have one entry in shard_nodes and in shares for each shard of both phases");
  }
  if (std::all_of(plan.shares.begin(), plan.shares.end(), [](uint32_t s) { return s == 0; })) {
    refuse("has only zeros in shares: at least one must be above 0");
  }
  if (plan.stream) check_stream(*plan.stream);
}

void check_same_cut(const EnginePlan& now, const EnginePlan& next) {
  auto refuse = [](const char* what) {
    fail(ErrorCode::kUsage,
         "the plan's {} differ from those the engine was loaded with: load the model again", what);
  };
  if (next.placement.seats != now.placement.seats) refuse("threads");
  if (next.prefill.member_shards != now.prefill.member_shards) refuse("member_shards");
  if (next.shard_nodes != now.shard_nodes) refuse("shard_nodes");
  if (next.shares != now.shares) refuse("shares");
  if (next.experts != now.experts) refuse("experts");
}

std::string engine_plan_text(const Machine& machine, const EnginePlan& plan) {
  std::string text = fmt::format("{}\nthread_pus", kHead);
  for (const Seat& seat : plan.placement.seats) text += fmt::format(" {}", seat.pu);
  text += "\nshard_nodes";
  for (uint32_t node : plan.shard_nodes) {
    text += fmt::format(" {}", machine.nodes[node].os_index);
  }
  text += "\nshares";
  for (uint32_t share : plan.shares) text += fmt::format(" {}", share);
  text += fmt::format("\nexperts {}", expert_cut_name(plan.experts));
  text += "\n" + plan_text(plan.prefill) + plan_text(plan.decode);
  return plan.stream ? text + stream_text(*plan.stream) : text;
}

EnginePlan parse_engine_plan(std::string_view text, const Machine& machine) {
  EnginePlan plan;
  std::istringstream in{std::string(text)};
  std::string line;
  if (!std::getline(in, line) || (line != kHead && std::ranges::count(kOldHeads, line) == 0)) {
    fail(ErrorCode::kUsage, "this is not an engine plan: its first line must be '{}'", kHead);
  }
  const bool may_stream = line == kHead;
  uint32_t number = 1;
  std::vector<std::string> phases;
  std::optional<std::vector<std::pair<std::string, uint32_t>>> stream;
  bool has_ring = false;
  while (std::getline(in, line)) {
    ++number;
    if (stream) {
      stream->emplace_back(line, number);
      continue;
    }
    if (may_stream && (line == kStreamHead || line == kOldStreamHead)) {
      stream.emplace();
      has_ring = line == kStreamHead;
      continue;
    }
    if (is_plan_head(line)) phases.emplace_back();
    if (!phases.empty()) {
      phases.back() += line + "\n";
      continue;
    }
    LineReader reader(line, number);
    if (!reader.at_end()) read_line(machine, reader, &plan);
  }
  if (phases.size() != 2) {
    fail(ErrorCode::kUsage, "the plan has {} phases; it needs two, prefill and decode",
         phases.size());
  }
  plan.prefill = parse_plan(phases[0]);
  plan.decode = parse_plan(phases[1]);
  if (stream) plan.stream = parse_stream(*stream, has_ring);
  check_engine_plan(plan);
  return plan;
}

}  // namespace hearth
