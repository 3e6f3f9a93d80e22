#include "grammar/schema_goal.h"

#include <algorithm>

namespace hearth {

GoalTable::GoalTable() {
  intern({});                                          // kAnyGoal
  single({Condition::Kind::kNot, nullptr, kAnyGoal});  // kNoGoal
}

GoalId GoalTable::single(const Condition& condition) {
  const void* value = condition.kind == Condition::Kind::kNot ? nullptr : condition.value;
  auto [at, added] = numbers_.emplace(std::tuple{condition.kind, value, condition.goal},
                                      static_cast<uint32_t>(conditions_.size()));
  if (added) conditions_.push_back(condition);
  return intern({at->second});
}

GoalId GoalTable::intern(Numbers numbers) {
  auto [at, added] = ids_.emplace(std::move(numbers), static_cast<GoalId>(goals_.size()));
  if (added) goals_.push_back(at->first);
  return at->second;
}

GoalId GoalTable::schema(const boost::json::value& schema) {
  if (const bool* truth = schema.if_bool()) return *truth ? kAnyGoal : kNoGoal;
  if (schema.is_object() && schema.get_object().empty()) return kAnyGoal;
  return single({Condition::Kind::kSchema, &schema, kAnyGoal});
}

GoalId GoalTable::equals(const boost::json::value& value) {
  return single({Condition::Kind::kEquals, &value, kAnyGoal});
}

GoalId GoalTable::negation(GoalId goal, const boost::json::value* asked_by) {
  if (goal == kAnyGoal) return kNoGoal;
  const Numbers& of = goals_[goal];
  if (of.size() == 1 && conditions_[of[0]].kind == Condition::Kind::kNot) {
    return conditions_[of[0]].goal;
  }
  return single({Condition::Kind::kNot, asked_by, goal});
}

// Returns whether a condition is the negation of a goal that the other conditions imply.
bool GoalTable::contradicts(const Numbers& numbers) const {
  return std::ranges::any_of(numbers, [&](uint32_t number) {
    const Condition& condition = conditions_[number];
    return condition.kind == Condition::Kind::kNot &&
           std::ranges::includes(numbers, goals_[condition.goal]);
  });
}

GoalId GoalTable::both(GoalId a, GoalId b) {
  if (a == b || b == kAnyGoal) return a;
  if (a == kAnyGoal) return b;
  if (a == kNoGoal || b == kNoGoal) return kNoGoal;
  Numbers all;
  std::ranges::set_union(goals_[a], goals_[b], std::back_inserter(all));
  return contradicts(all) ? kNoGoal : intern(std::move(all));
}

GoalId GoalTable::either(GoalId a, GoalId b, const boost::json::value* asked_by) {
  return negation(both(negation(a, asked_by), negation(b, asked_by)), asked_by);
}

std::vector<Condition> GoalTable::conditions(GoalId goal) const {
  std::vector<Condition> all;
  for (uint32_t number : goals_[goal]) all.push_back(conditions_[number]);
  return all;
}

}  // namespace hearth
