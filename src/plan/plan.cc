#include "plan/plan.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <sstream>

#include "base/check.h"
#include "base/error.h"
#include "plan/line_reader.h"

namespace hearth {
namespace {

constexpr const char* kHeads[] = {"hearth-plan 1", "hearth-plan 2"};
constexpr const char* kHead = kHeads[1];

[[noreturn]] void refuse(const std::string& why) { fail(ErrorCode::kUsage, "the plan {}", why); }

// Checks that groups cover every part of every shard once, in order. Returns the number of shards.
uint32_t check_shares(const Plan& plan) {
  uint32_t shard = 0, part = 0;
  for (const PlanGroup& group : plan.groups) {
    const GroupShare& share = group.share;
    if (share.parts == 0 || share.part != part || share.shard_begin != shard ||
        share.shard_end <= shard || (share.parts > 1 && share.shard_end != shard + 1)) {
      refuse("has groups that do not cover every part of every shard once, in order");
    }
    part = part + 1 == share.parts ? 0 : part + 1;
    if (part == 0) shard = share.shard_end;
  }
  if (part != 0) refuse("leaves parts of its last shard without a group");
  return shard;
}

// Checks that every member of a group is one of the team, and of no other group.
void check_members(const Plan& plan) {
  std::vector<bool> taken(plan.member_shards.size(), false);
  for (const PlanGroup& group : plan.groups) {
    if (group.members.empty()) refuse("has a group without members");
    for (size_t i = 0; i < group.members.size(); ++i) {
      const uint32_t member = group.members[i];
      if (member >= plan.member_count()) {
        refuse(fmt::format("has member {} in a group, but member_shards has only {} members",
                           member, plan.member_count()));
      }
      if (i > 0 && member <= group.members[i - 1]) {
        refuse("has a group whose members are not in ascending order");
      }
      if (taken[member]) refuse(fmt::format("has member {} in two groups", member));
      taken[member] = true;
    }
  }
}

// Checks the rule of version 1: members of groups follow one another and leave no member out.
void validate_ranges(const Plan& plan) {
  uint32_t member = 0;
  for (const PlanGroup& group : plan.groups) {
    if (group.members[0] != member) refuse("has a group whose members are not consecutive");
    member = group.members.back() + 1;
  }
  if (member != plan.member_count())
    refuse("has a member_shards line whose length differs from the number of members");
}

// Reads the members of a 'group' line, up to the word 'shards'.
std::vector<uint32_t> read_members(uint32_t version, LineReader& line) {
  line.expect("members");
  if (version > 1) return line.numbers_before("shards");
  const uint32_t begin = line.number(), end = line.number();
  line.expect("shards");
  if (end <= begin) refuse("has a group without members");
  if (end > kMaxMembers)
    refuse(fmt::format("has members up to {}; the maximum is {}", end, kMaxMembers));
  return member_range(begin, end);
}

void read_line(Plan& plan, uint32_t version, LineReader& line) {
  std::string key = line.word();
  if (key == "phase") {
    std::string name = line.word();
    if (name != "prefill" && name != "decode") {
      fail(ErrorCode::kUsage, "the plan's phase is '{}'; it must be prefill or decode", name);
    }
    plan.phase = name == "prefill" ? Phase::kPrefill : Phase::kDecode;
  } else if (key == "max_rows") {
    plan.max_rows = line.number();
  } else if (key == "sync") {
    std::string name = line.word();
    std::optional<GroupSync> sync = group_sync_named(name);
    if (!sync) {
      fail(ErrorCode::kUsage, "the plan's sync is '{}'; it must be async or lockstep", name);
    }
    plan.sync = *sync;
  } else if (key == "member_shards") {
    plan.member_shards = line.numbers();
  } else if (key == "group") {
    PlanGroup group;
    group.members = read_members(version, line);
    group.share.shard_begin = line.number();
    group.share.shard_end = line.number();
    line.expect("part");
    group.share.part = line.number();
    group.share.parts = line.number();
    plan.groups.push_back(group);
  } else {
    fail(ErrorCode::kUsage, "the plan has an unknown line '{}'", key);
  }
  line.finish();
}

// Returns how many of `groups` groups work on each shard. Every shard has one group. Each further
// group goes to the shard that has the most members for each of its groups so far. `first` holds
// the first member on each shard, followed by the number of all members.
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

std::vector<uint32_t> member_range(uint32_t begin, uint32_t end) {
  std::vector<uint32_t> members(end > begin ? end - begin : 0);
  std::iota(members.begin(), members.end(), begin);
  return members;
}

uint32_t Plan::worker_count() const {
  uint32_t count = 0;
  for (const PlanGroup& group : groups) count += group.size();
  return count;
}

std::vector<uint32_t> Plan::working_members() const {
  std::vector<uint32_t> all;
  for (const PlanGroup& group : groups) {
    all.insert(all.end(), group.members.begin(), group.members.end());
  }
  std::sort(all.begin(), all.end());
  return all;
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
    fail(ErrorCode::kUsage,
         "{} threads cannot form {} groups, as each needs a thread: lower --groups or raise "
         "--threads",
         members, groups);
  }
  std::vector<uint32_t> first(shards + 1, 0);  // the first member on each shard
  for (uint32_t s = 0; s <= shards; ++s) {
    first[s] = static_cast<uint32_t>(
        std::lower_bound(member_shards.begin(), member_shards.end(), s) - member_shards.begin());
  }
  Plan plan{phase, max_rows, std::move(member_shards), {}, GroupSync::kAsync};
  if (groups < shards) {
    for (uint32_t g = 0; g < groups; ++g) {
      uint32_t begin = shards * g / groups, end = shards * (g + 1) / groups;
      plan.groups.push_back({member_range(first[begin], first[end]), {begin, end, 0, 1}});
    }
  } else {
    std::vector<uint32_t> parts = parts_by_members(first, groups);
    for (uint32_t s = 0; s < shards; ++s) {
      uint32_t count = first[s + 1] - first[s];
      for (uint32_t i = 0; i < parts[s]; ++i) {
        plan.groups.push_back(
            {member_range(first[s] + count * i / parts[s], first[s] + count * (i + 1) / parts[s]),
             {s, s + 1, i, parts[s]}});
      }
    }
  }
  for (const PlanGroup& group : plan.groups) {
    if (!group.members.empty()) continue;
    fail(ErrorCode::kUsage,
         "{} groups over {} shards leave shard {} without threads: use fewer groups or shards, or "
         "more threads",
         groups, shards, group.share.shard_begin);
  }
  check_plan(plan);
  return plan;
}

Plan even_plan(Phase phase, uint32_t max_rows, uint32_t shards, uint32_t groups, uint32_t members) {
  std::vector<uint32_t> member_shards(members);
  for (uint32_t m = 0; m < members; ++m) member_shards[m] = m * shards / members;
  return make_plan(phase, max_rows, std::move(member_shards), shards, groups);
}

void check_plan(const Plan& plan) {
  if (plan.groups.empty()) refuse("has no groups: add a 'group' line");
  if (plan.max_rows == 0) refuse("has max_rows 0: a step needs at least one row");
  if (plan.member_count() > kMaxMembers) {
    refuse(fmt::format("has {} members; the maximum is {}", plan.member_count(), kMaxMembers));
  }
  const uint32_t shards = check_shares(plan);
  check_members(plan);
  for (uint32_t s : plan.member_shards) {
    if (s >= shards) refuse("puts a member on a shard that no group computes");
  }
}

bool is_plan_head(std::string_view line) {
  return std::find(std::begin(kHeads), std::end(kHeads), line) != std::end(kHeads);
}

std::string plan_text(const Plan& plan) {
  std::string text = fmt::format("{}\nphase {}\nmax_rows {}\nsync {}\nmember_shards", kHead,
                                 phase_name(plan.phase), plan.max_rows, group_sync_name(plan.sync));
  for (uint32_t s : plan.member_shards) text += fmt::format(" {}", s);
  for (const PlanGroup& group : plan.groups) {
    text += fmt::format("\ngroup members {} shards {} {} part {} {}", fmt::join(group.members, " "),
                        group.share.shard_begin, group.share.shard_end, group.share.part,
                        group.share.parts);
  }
  return text + "\n";
}

Plan parse_plan(std::string_view text) {
  std::istringstream in{std::string(text)};
  std::string line;
  uint32_t number = 1;
  if (!std::getline(in, line) || !is_plan_head(line)) {
    fail(ErrorCode::kUsage, "this is not a plan: its first line must be '{}'", kHead);
  }
  const uint32_t version = line == kHead ? 2 : 1;
  Plan plan;
  while (std::getline(in, line)) {
    ++number;
    LineReader reader(line, number);
    if (!reader.at_end()) read_line(plan, version, reader);
  }
  check_plan(plan);
  if (version == 1) validate_ranges(plan);
  return plan;
}

}  // namespace hearth
