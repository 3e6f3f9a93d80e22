#include "plan/plan.h"

#include <algorithm>
#include <sstream>

#include "base/check.h"
#include "base/error.h"
#include "plan/line_reader.h"

namespace hearth {
namespace {

// Checks the rules that every plan keeps, whoever wrote it.
void validate(const Plan& plan) {
  auto refuse = [](const std::string& why) { fail(ErrorCode::kUsage, "the plan {}", why); };
  if (plan.groups.empty()) refuse("has no groups: add a 'group' line");
  if (plan.max_rows == 0) refuse("has max_rows 0: a step needs at least one row");
  uint32_t member = 0, shard = 0, part = 0;
  for (const PlanGroup& group : plan.groups) {
    const GroupShare& share = group.share;
    if (group.member_begin != member || group.member_end <= member) {
      refuse("has groups whose members do not follow one another");
    }
    if (share.parts == 0 || share.part != part || share.shard_begin != shard ||
        share.shard_end <= shard || (share.parts > 1 && share.shard_end != shard + 1)) {
      refuse("has groups that do not cover every part of every shard once, in order");
    }
    member = group.member_end;
    part = part + 1 == share.parts ? 0 : part + 1;
    if (part == 0) shard = share.shard_end;
  }
  if (part != 0) refuse("leaves parts of its last shard to nobody");
  if (plan.member_shards.size() != member) refuse("names a shard for more or fewer members");
  for (uint32_t s : plan.member_shards) {
    if (s >= shard) refuse("puts a member on a shard that no group works on");
  }
}

void read_line(Plan& plan, LineReader& line) {
  std::string key = line.word();
  if (key == "phase") {
    std::string name = line.word();
    if (name != "prefill" && name != "decode") {
      fail(ErrorCode::kUsage, "the plan's phase is '{}'; it is prefill or decode", name);
    }
    plan.phase = name == "prefill" ? Phase::kPrefill : Phase::kDecode;
  } else if (key == "max_rows") {
    plan.max_rows = line.number();
  } else if (key == "sync") {
    std::string name = line.word();
    std::optional<GroupSync> sync = group_sync_named(name);
    if (!sync) {
      fail(ErrorCode::kUsage, "the plan's sync is '{}'; it is async or lockstep", name);
    }
    plan.sync = *sync;
  } else if (key == "member_shards") {
    plan.member_shards = line.numbers();
  } else if (key == "group") {
    PlanGroup group;
    line.expect("members");
    group.member_begin = line.number();
    group.member_end = line.number();
    line.expect("shards");
    group.share.shard_begin = line.number();
    group.share.shard_end = line.number();
    line.expect("part");
    group.share.part = line.number();
    group.share.parts = line.number();
    plan.groups.push_back(group);
  } else {
    fail(ErrorCode::kUsage, "the plan has a line '{}', which nobody knows", key);
  }
  line.finish();
}

// Returns how many of `groups` groups work on each shard: one at least, and each other one where a
// group has most members so far. `first` holds the first member on each shard, and the member count
// at its end.
std::vector<uint32_t> parts_by_members(const std::vector<uint32_t>& first, uint32_t groups) {
  size_t shards = first.size() - 1;
  std::vector<uint32_t> parts(shards, 1);
  for (size_t left = groups - shards; left > 0; --left) {
    size_t best = 0;
    auto members = [&](size_t s) {
      return static_cast<double>(first[s + 1] - first[s]) / parts[s];
    };
    for (size_t s = 1; s < shards; ++s) {
      if (members(s) > members(best)) best = s;
    }
    ++parts[best];
  }
  return parts;
}

}  // namespace

const char* phase_name(Phase phase) { return phase == Phase::kPrefill ? "prefill" : "decode"; }

const char* group_sync_name(GroupSync sync) {
  return sync == GroupSync::kAsync ? "async" : "lockstep";
}

std::optional<GroupSync> group_sync_named(std::string_view name) {
  for (GroupSync sync : {GroupSync::kAsync, GroupSync::kLockstep}) {
    if (name == group_sync_name(sync)) return sync;
  }
  return {};
}

Plan make_plan(Phase phase, uint32_t max_rows, std::vector<uint32_t> member_shards, uint32_t shards,
               uint32_t groups) {
  HEARTH_CHECK(shards > 0 && std::is_sorted(member_shards.begin(), member_shards.end()) &&
                   (member_shards.empty() || member_shards.back() < shards),
               "members in the order of their shards");
  auto members = static_cast<uint32_t>(member_shards.size());
  if (groups == 0 || members < groups) {
    fail(ErrorCode::kUsage, "{} threads cannot form {} groups: each group needs a thread", members,
         groups);
  }
  std::vector<uint32_t> first(shards + 1, 0);  // member that is the first on each shard
  for (uint32_t s = 0; s <= shards; ++s) {
    first[s] = static_cast<uint32_t>(
        std::lower_bound(member_shards.begin(), member_shards.end(), s) - member_shards.begin());
  }
  Plan plan{phase, max_rows, std::move(member_shards), {}, GroupSync::kAsync};
  if (groups < shards) {
    for (uint32_t g = 0; g < groups; ++g) {
      uint32_t begin = shards * g / groups, end = shards * (g + 1) / groups;
      plan.groups.push_back({first[begin], first[end], {begin, end, 0, 1}});
    }
  } else {
    std::vector<uint32_t> parts = parts_by_members(first, groups);
    for (uint32_t s = 0; s < shards; ++s) {
      uint32_t count = first[s + 1] - first[s];
      for (uint32_t i = 0; i < parts[s]; ++i) {
        plan.groups.push_back({first[s] + count * i / parts[s],
                               first[s] + count * (i + 1) / parts[s],
                               {s, s + 1, i, parts[s]}});
      }
    }
  }
  for (const PlanGroup& group : plan.groups) {
    if (group.member_begin < group.member_end) continue;
    fail(ErrorCode::kUsage,
         "{} groups over {} shards leave shard {} without threads: take fewer groups or shards, or "
         "more threads",
         groups, shards, group.share.shard_begin);
  }
  validate(plan);
  return plan;
}

Plan even_plan(Phase phase, uint32_t max_rows, uint32_t shards, uint32_t groups, uint32_t members) {
  std::vector<uint32_t> member_shards(members);
  for (uint32_t m = 0; m < members; ++m) member_shards[m] = m * shards / members;
  return make_plan(phase, max_rows, std::move(member_shards), shards, groups);
}

const char* plan_head() { return "hearth-plan 1"; }

std::string plan_text(const Plan& plan) {
  std::string text = fmt::format("{}\nphase {}\nmax_rows {}\nsync {}\nmember_shards", plan_head(),
                                 phase_name(plan.phase), plan.max_rows, group_sync_name(plan.sync));
  for (uint32_t s : plan.member_shards) text += fmt::format(" {}", s);
  for (const PlanGroup& group : plan.groups) {
    text += fmt::format("\ngroup members {} {} shards {} {} part {} {}", group.member_begin,
                        group.member_end, group.share.shard_begin, group.share.shard_end,
                        group.share.part, group.share.parts);
  }
  return text + "\n";
}

Plan parse_plan(std::string_view text) {
  std::istringstream in{std::string(text)};
  std::string line;
  uint32_t number = 1;
  if (!std::getline(in, line) || line != plan_head()) {
    fail(ErrorCode::kUsage, "not a plan: its first line must be '{}'", plan_head());
  }
  Plan plan;
  while (std::getline(in, line)) {
    ++number;
    LineReader reader(line, number);
    if (!reader.at_end()) read_line(plan, reader);
  }
  validate(plan);
  return plan;
}

}  // namespace hearth
