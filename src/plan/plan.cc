#include "plan/plan.h"

#include <algorithm>
#include <sstream>

#include "base/error.h"

namespace hearth {
namespace {

// What holds for every plan, whoever wrote it.
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

class LineReader {
 public:
  LineReader(const std::string& line, uint32_t number) : in_(line), number_(number) {}

  std::string word() {
    std::string w;
    if (!(in_ >> w)) fail(ErrorCode::kUsage, "plan line {} ends too early", number_);
    return w;
  }
  void expect(const char* wanted) {
    std::string w = word();
    if (w != wanted) {
      fail(ErrorCode::kUsage, "plan line {} has '{}' where '{}' belongs", number_, w, wanted);
    }
  }
  uint32_t number() {
    std::string w = word();
    if (w.size() > 9 || w.find_first_not_of("0123456789") != std::string::npos) {
      fail(ErrorCode::kUsage, "plan line {} has '{}' where a number belongs", number_, w);
    }
    return static_cast<uint32_t>(std::stoul(w));
  }
  bool at_end() { return (in_ >> std::ws).eof(); }
  void finish() {
    if (!at_end()) fail(ErrorCode::kUsage, "plan line {} has more words than belong", number_);
  }

 private:
  std::istringstream in_;
  uint32_t number_;
};

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
  } else if (key == "member_shards") {
    while (!line.at_end()) plan.member_shards.push_back(line.number());
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

}  // namespace

const char* phase_name(Phase phase) { return phase == Phase::kPrefill ? "prefill" : "decode"; }

Plan even_plan(Phase phase, uint32_t max_rows, uint32_t shards, uint32_t groups, uint32_t members) {
  if (groups == 0 || shards == 0 || members < groups) {
    fail(ErrorCode::kUsage, "{} threads cannot form {} groups: each group needs a thread", members,
         groups);
  }
  if (groups % shards != 0 && shards % groups != 0) {
    fail(ErrorCode::kUsage, "{} groups over {} nodes: one number must divide the other", groups,
         shards);
  }
  Plan plan{phase, max_rows, std::vector<uint32_t>(members), {}};
  uint32_t parts = std::max(1u, groups / shards);
  uint32_t width = std::max(1u, shards / groups);
  for (uint32_t g = 0; g < groups; ++g) {
    uint32_t first = members * g / groups, last = members * (g + 1) / groups;
    uint32_t shard = g / parts * width;
    for (uint32_t m = first; m < last; ++m) {
      plan.member_shards[m] = shard + (m - first) * width / (last - first);
    }
    plan.groups.push_back({first, last, {shard, shard + width, g % parts, parts}});
  }
  validate(plan);
  return plan;
}

std::string plan_text(const Plan& plan) {
  std::string text = fmt::format("hearth-plan 1\nphase {}\nmax_rows {}\nmember_shards",
                                 phase_name(plan.phase), plan.max_rows);
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
  if (!std::getline(in, line) || line != "hearth-plan 1") {
    fail(ErrorCode::kUsage, "not a plan: its first line must be 'hearth-plan 1'");
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
