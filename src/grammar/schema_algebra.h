// SchemaAlgebra intersects, unites and negates sets of values, which are given as cases. Results
// are exact.
#pragma once

#include <span>
#include <string_view>

#include "grammar/schema_budget.h"
#include "grammar/schema_case.h"
#include "grammar/schema_texts.h"

namespace hearth {

class SchemaAlgebra {
 public:
  SchemaAlgebra(SchemaTexts& texts, GoalTable& goals, SchemaBudget& budget)
      : texts_(texts), goals_(goals), budget_(budget) {}

  // Returns the case of all values; none of their members count as evaluated.
  ValueCase anything() const;
  // Returns the case of all values of these types.
  ValueCase only(TypeBits types) const;
  // Returns the intersection.
  ValueCases both(const ValueCases& a, const ValueCases& b);
  // Returns the union; cases without arrays and objects are merged into one.
  ValueCases either(ValueCases a, const ValueCases& b);
  // Returns the complement. Throws CannotNegate where there is no exact form.
  ValueCases negation(const ValueCases& cases, const boost::json::value* asked_by);

  // Returns the goal that a property's value must satisfy; kNoGoal where the object must not
  // have this property.
  GoalId goal_of(const ObjectCase& object, std::string_view name) const;
  GoalId goal_in(std::span<const NameClass> classes, std::string_view name) const;
  // Returns the names of a class that are none of the object's named properties.
  RegexId without_named(const ObjectCase& object, RegexId names) const;

 private:
  std::optional<ValueCase> join(const ValueCase& a, const ValueCase& b);
  ArrayCase both(const ArrayCase& a, const ArrayCase& b);
  ObjectCase both(const ObjectCase& a, const ObjectCase& b);
  std::vector<NamedProperty> join_named(const ObjectCase& a, const ObjectCase& b);
  std::vector<NameClass> join_classes(const ObjectCase& a, const ObjectCase& b);
  ValueCases negation(const ValueCase& value, const boost::json::value* asked_by);
  void negate(const ArrayCase& array, const boost::json::value* asked_by, ValueCases& out);
  void negate(const ObjectCase& object, const boost::json::value* asked_by, ValueCases& out);
  bool holds_something(ValueCase& value) const;

  SchemaTexts& texts_;
  GoalTable& goals_;
  SchemaBudget& budget_;
};

// Thrown where a negation has no exact form; `what` names the part.
struct CannotNegate {
  std::string_view what;
};

}  // namespace hearth
