// The values that a schema takes, as a union of cases. A case says for each type of JSON whether it
// is taken and what holds then: numbers and strings by regular expressions, arrays and objects by
// goals for what lies in them.
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

// The types of JSON, a bit each; true and false are apart.
using TypeBits = uint8_t;
inline constexpr TypeBits kNullBit = 1, kFalseBit = 2, kTrueBit = 4, kNumberBit = 8,
                          kStringBit = 16, kArrayBit = 32, kObjectBit = 64, kAllTypes = 127;
inline constexpr TypeBits kContainers = kArrayBit | kObjectBit;

// A rule that from `least` to `most` items satisfy the goal, counted behind the first `from` items.
struct ContainsRule {
  GoalId goal;
  uint64_t from = 0, least = 1, most = kUnbounded;
};

struct ArrayCase {
  std::vector<GoalId> prefix;  // of the first items
  GoalId rest = kAnyGoal;      // of those behind
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

// Names by a regular expression over their text, and what their values must satisfy.
struct NameClass {
  RegexId names;
  GoalId goal;
};

struct ObjectCase {
  std::vector<NamedProperty> named;
  // Rules for names that are none of `named`: no name is in two classes, and a name in none may not
  // be.
  std::vector<NameClass> classes;
  uint64_t least = 0, most = kUnbounded;  // number of properties
  // One or more properties have a name of each class.
  std::vector<NameClass> witnesses;
};

// The members that "unevaluatedProperties" and "unevaluatedItems" leave alone.
struct Evaluated {
  RegexId names;
  uint64_t items = 0;               // the first ones
  std::vector<GoalId> items_where;  // and those that satisfy one of these
};

struct ValueCase {
  TypeBits types = kAllTypes;
  RegexId numbers;  // how they are written
  RegexId strings;  // their values, in UTF-8
  ArrayCase array;
  ObjectCase object;
  Evaluated evaluated;
};

using ValueCases = std::vector<ValueCase>;

}  // namespace hearth
