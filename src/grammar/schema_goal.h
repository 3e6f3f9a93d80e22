// Goals: sets of conditions that a value must satisfy together. Equal sets have one number, so
// compiling a recursive schema ends.
#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <vector>

namespace hearth {

using GoalId = uint32_t;

inline constexpr GoalId kAnyGoal = 0;
inline constexpr GoalId kNoGoal = 1;

// A condition: a schema holds, the value equals another, or a goal does not hold.
struct Condition {
  enum class Kind : uint8_t { kSchema, kEquals, kNot };

  Kind kind;
  const boost::json::value* value;  // the schema or the value; for kNot the schema that negates
  GoalId goal;                      // for kNot
};

class GoalTable {
 public:
  GoalTable();

  // true and {} give kAnyGoal, false gives kNoGoal.
  GoalId schema(const boost::json::value& schema);
  GoalId equals(const boost::json::value& value);
  // `asked_by` is the schema that errors name as the place of the negation.
  GoalId negation(GoalId goal, const boost::json::value* asked_by);
  GoalId both(GoalId a, GoalId b);
  GoalId either(GoalId a, GoalId b, const boost::json::value* asked_by);

  // Returns the goal's conditions, in the order in which they were first met.
  std::vector<Condition> conditions(GoalId goal) const;

 private:
  using Numbers = std::vector<uint32_t>;  // of conditions, ascending

  GoalId single(const Condition& condition);
  GoalId intern(Numbers numbers);
  bool contradicts(const Numbers& numbers) const;

  std::vector<Condition> conditions_;
  std::map<std::tuple<Condition::Kind, const void*, GoalId>, uint32_t> numbers_;
  std::vector<Numbers> goals_;
  std::map<Numbers, GoalId> ids_;
};

}  // namespace hearth
