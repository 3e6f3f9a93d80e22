// The values that a schema accepts, as a union of cases. A case states for each JSON type whether
// it is accepted and under which conditions: numbers and strings by regular expressions, arrays and
// objects by goals for their members.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "grammar/regex_set.h"
#include "grammar/schema_goal.h"

namespace hearth {

inline constexpr uint64_t kUnbounded = std::numeric_limits<uint64_t>::max();

// The types of JSON, a bit each; true and false have one each.
using TypeBits = uint8_t;
inline constexpr TypeBits kNullBit = 1, kFalseBit = 2, kTrueBit = 4, kNumberBit = 8,
                          kStringBit = 16, kArrayBit = 32, kObjectBit = 64, kAllTypes = 127;
inline constexpr TypeBits kContainers = kArrayBit | kObjectBit;

// A rule: at least `least` and at most `most` items satisfy the goal, without counting the first
// `from` items.
struct ContainsRule {
  GoalId goal;
  uint64_t from = 0, least = 1, most = kUnbounded;
};

struct ArrayCase {
  std::vector<GoalId> prefix;  // of the first items, one each
  GoalId rest = kAnyGoal;      // of all further items
  uint64_t least = 0, most = kUnbounded;
  std::vector<ContainsRule> contains;
  bool unique = false;
};

struct NamedProperty {
  std::string name;
  GoalId goal = kAnyGoal;
  bool required = false;
  bool declared = false;  // by "properties", whose order counts
};

// Names that match an expression, and the goal of their values.
struct NameClass {
  RegexId names;
  GoalId goal;
};

struct ObjectCase {
  std::vector<NamedProperty> named;
  // Rules for names other than `named`: no name is in two classes, and names that are in no class
  // are not allowed.
  std::vector<NameClass> classes;
  uint64_t least = 0, most = kUnbounded;  // number of properties
  // Each witness requires at least one property that has a name of the class and a value that
  // satisfies the goal.
  std::vector<NameClass> witnesses;
};

// The members that count as evaluated: "unevaluatedProperties" and "unevaluatedItems" do not apply
// to them.
struct Evaluated {
  RegexId names;
  uint64_t items = 0;               // the first ones
  std::vector<GoalId> items_where;  // and all items that satisfy one of these goals
};

struct ValueCase {
  TypeBits types = kAllTypes;
  RegexId numbers;  // the spellings of accepted numbers
  RegexId strings;  // the values of accepted strings, in UTF-8
  ArrayCase array;
  ObjectCase object;
  Evaluated evaluated;
};

using ValueCases = std::vector<ValueCase>;

}  // namespace hearth
