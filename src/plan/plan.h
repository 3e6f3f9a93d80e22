// A Plan says, for one phase (prefill or decode), which members of the team work, how they form
// groups, how the groups wait for each other, which shards each group works on and how many rows a
// step may have. It is plain data that can be printed, saved as text and read again:
//
//   hearth-plan 2
//   phase prefill
//   max_rows 512
//   sync async
//   member_shards 0 0 1 1
//   group members 0 1 shards 0 1 part 0 1
//   group members 3 shards 1 2 part 0 1
//
// sync is async or lockstep (GroupSync), and async if the line is missing. member_shards gives, for
// each member of the team, the shard whose node it is on. A group lists its members by number,
// ascending. No member is in two groups, and members of no group (2 above) rest: they take no part
// in the phase's steps. A group works on shards [first, last) and part i of n of the shard's
// segments (n > 1 only for a single shard). Groups cover every part of every shard exactly once, in
// order.
//
// Version 1 is still read. Its groups have "members FIRST LAST", the range [first, last). They
// follow one another and leave no member out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/axis_cuts.h"

namespace hearth {

enum class Phase : uint8_t { kPrefill, kDecode };
const char* phase_name(Phase phase);

// How groups synchronise (ArcLight, section 3.4). kAsync: each group goes on by itself, and groups
// meet only before one reads values that another wrote (ArcLight's Sync B). kLockstep: all threads
// of all groups meet in one barrier after every op (its Sync A). Both give the same bits; kLockstep
// serves comparisons.
enum class GroupSync : uint8_t { kAsync, kLockstep };
const char* group_sync_name(GroupSync sync);
// Returns the GroupSync of that name, or none.
std::optional<GroupSync> group_sync_named(std::string_view name);

// A group's share of the work: shards [shard_begin, shard_end), or part `part` of `parts` of one
// shard.
struct GroupShare {
  uint32_t shard_begin = 0, shard_end = 1;
  uint32_t part = 0, parts = 1;
  bool operator==(const GroupShare&) const = default;

  // Returns the group's units of an axis in shard s of its range; segments() returns its segments.
  UnitRange units(const AxisCuts& cuts, uint32_t s) const {
    return cuts.part_units(s, part, parts);
  }
  UnitRange segments(const AxisCuts& cuts, uint32_t s) const {
    return cuts.part_segments(s, part, parts);
  }
};

struct PlanGroup {
  std::vector<uint32_t> members = {0};  // rising
  GroupShare share;
  bool operator==(const PlanGroup&) const = default;

  uint32_t size() const { return static_cast<uint32_t>(members.size()); }
};

// Returns the members [begin, end).
std::vector<uint32_t> member_range(uint32_t begin, uint32_t end);

struct Plan {
  Phase phase = Phase::kDecode;
  uint32_t max_rows = 1;
  std::vector<uint32_t> member_shards;
  std::vector<PlanGroup> groups;
  GroupSync sync = GroupSync::kAsync;
  bool operator==(const Plan&) const = default;

  uint32_t group_count() const { return static_cast<uint32_t>(groups.size()); }
  uint32_t shard_count() const { return groups.back().share.shard_end; }
  // Returns all members of the team, resting ones included.
  uint32_t member_count() const { return static_cast<uint32_t>(member_shards.size()); }
  // Returns the members of all groups together.
  uint32_t worker_count() const;
  // The members of all groups, rising.
  std::vector<uint32_t> working_members() const;
};

// The most members that a plan may have: more than any known machine has PUs.
inline constexpr uint32_t kMaxMembers = 1u << 16;

// Makes the plan of `groups` groups over `shards` shards, for members that stand on the shards
// `member_shards` (ascending; a shard may have none). With as many groups as shards, each takes
// one. Fewer groups take whole shards, as evenly as possible. More groups take parts of shards,
// with more parts where more members stand. Throws Error (kUsage) if a group would have no members.
Plan make_plan(Phase phase, uint32_t max_rows, std::vector<uint32_t> member_shards, uint32_t shards,
               uint32_t groups);

// Makes the plan for `members` members that are dealt evenly to the shards.
Plan even_plan(Phase phase, uint32_t max_rows, uint32_t shards, uint32_t groups, uint32_t members);

// Throws Error (kUsage), naming the rule, if the plan breaks a rule that holds for every plan.
void check_plan(const Plan& plan);

// Returns whether a line is the first of a plan's text, in any version that is read.
bool is_plan_head(std::string_view line);
// Returns the plan's text in the newest version.
std::string plan_text(const Plan& plan);
// Reads a plan's text, in any version. Throws (kUsage) with the line and its fault.
Plan parse_plan(std::string_view text);

}  // namespace hearth
