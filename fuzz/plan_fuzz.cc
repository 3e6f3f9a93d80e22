// Fuzzes saved plans with hostile text, as the plan of one phase and as an engine's plan on an
// invented machine. Only hearth::Error may be thrown. A plan that is read equals the one parsed
// from its own text.
#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/error.h"
#include "engine/engine_plan.h"

namespace hearth {
namespace {

void run_plan(std::string_view text) {
  try {
    Plan plan = parse_plan(text);
    std::vector<uint32_t> working = plan.working_members();
    HEARTH_CHECK(std::adjacent_find(working.begin(), working.end()) == working.end() &&
                     working.back() < plan.member_count(),
                 "groups share no member and have no stranger");
    HEARTH_CHECK(parse_plan(plan_text(plan)) == plan, "a plan comes back from its text");
  } catch (const Error& error) {
    HEARTH_CHECK(error.code() == ErrorCode::kUsage, "a plan is at fault");
  }
}

void run_engine_plan(std::string_view text, const Machine& machine) {
  try {
    EnginePlan plan = parse_engine_plan(text, machine);
    for (uint32_t node : plan.shard_nodes) {
      HEARTH_CHECK(node < machine.nodes.size(), "shards lie on the machine's nodes");
    }
    for (const Seat& seat : plan.placement.seats) {
      HEARTH_CHECK(seat.core < machine.cores.size(), "threads sit on the machine's cores");
    }
    EnginePlan again = parse_engine_plan(engine_plan_text(machine, plan), machine);
    HEARTH_CHECK(again.prefill == plan.prefill && again.decode == plan.decode &&
                     again.shard_nodes == plan.shard_nodes && again.shares == plan.shares &&
                     again.placement.pus() == plan.placement.pus() && again.stream == plan.stream,
                 "an engine's plan comes back from its text");
  } catch (const Error& error) {
    HEARTH_CHECK(error.code() == ErrorCode::kUsage, "a plan is at fault");
  }
}

}  // namespace
}  // namespace hearth

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const hearth::Machine kMachine = hearth::Machine::from_synthetic("numa:2 core:4 pu:2");
  std::string_view text(reinterpret_cast<const char*>(data), size);
  hearth::run_plan(text);
  hearth::run_engine_plan(text, kMachine);
  return 0;
}
