#include "grammar/schema_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace hearth {
namespace {

namespace json = boost::json;

constexpr size_t kMaxOpenReferences = 256;  // nested references for one value
constexpr uint32_t kLookAhead = 4;  // levels below a value that are checked for impossible members

bool is_applicator(std::string_view keyword) {
  static constexpr std::array<std::string_view, 11> kApplicators = {"$ref",
                                                                    "$dynamicRef",
                                                                    "$recursiveRef",
                                                                    "allOf",
                                                                    "anyOf",
                                                                    "oneOf",
                                                                    "not",
                                                                    "propertyNames",
                                                                    "dependencies",
                                                                    "dependentSchemas",
                                                                    "dependentRequired"};
  return std::ranges::find(kApplicators, keyword) != kApplicators.end();
}

}  // namespace

void SchemaReader::refuse(const Scope& scope, std::string_view keyword,
                          std::string_view sentence) const {
  document_.refuse(scope.schema, keyword, sentence);
}

const boost::json::value& SchemaReader::origin(GoalId goal) const {
  for (const Condition& condition : goals_.conditions(goal)) {
    if (condition.value != nullptr) return *condition.value;
  }
  return document_.root();
}

const ValueCases& SchemaReader::cases(GoalId goal) {
  std::unique_ptr<ValueCases>& known = cases_[{goal, relaxed_ && strict_ > 0}];
  if (known) return *known;
  ValueCases all{algebra_.anything()};
  for (const Condition& condition : goals_.conditions(goal)) {
    attempt([&] { all = joined(all, condition_cases(condition)); });
  }
  known = std::make_unique<ValueCases>(algebra_.either({}, all));
  return *known;
}

ValueCases SchemaReader::condition_cases(const Condition& condition) {
  switch (condition.kind) {
    case Condition::Kind::kSchema:
      return evaluate(*condition.value, false);
    case Condition::Kind::kEquals:
      return equal_cases(*condition.value);
    case Condition::Kind::kNot:
      break;
  }
  if (condition.goal == kAnyGoal) return {};
  const Value& asked_by = condition.value == nullptr ? document_.root() : *condition.value;
  const auto negated = strictly([&] { return cases(condition.goal); });
  return negate(negated, asked_by, "not");
}

ValueCases SchemaReader::equal_cases(const Value& value) {
  ValueCase same = algebra_.only(0);
  if (value.is_null()) {
    same.types = kNullBit;
  } else if (const bool* truth = value.if_bool()) {
    same.types = *truth ? kTrueBit : kFalseBit;
  } else if (const json::string* text = value.if_string()) {
    same.types = kStringBit;
    same.strings = texts_.one(std::string_view(*text));
  } else if (std::optional<Decimal> number = decimal_of(value)) {
    same.types = kNumberBit;
    same.numbers = texts_.equal_to(*number);
  } else if (const json::array* array = value.if_array()) {
    same.types = kArrayBit;
    for (const Value& item : *array) same.array.prefix.push_back(goals_.equals(item));
    same.array.least = same.array.most = array->size();
  } else {
    same.types = kObjectBit;
    same.object.classes.clear();
    for (const auto& member : value.get_object()) {
      same.object.named.push_back({member.key(), goals_.equals(member.value()), true, true});
    }
  }
  return {same};
}

ValueCases SchemaReader::evaluate(const Value& schema, bool tracks) {
  budget_.spend();
  if (const bool* truth = schema.if_bool()) {
    return *truth ? ValueCases{algebra_.anything()} : ValueCases{};
  }
  const json::object* object = schema.if_object();
  if (object == nullptr) {
    fail(ErrorCode::kRequest, "{}: this is not a schema: give an object, true or false",
         document_.path(schema));
  }
  const Scope scope{
      schema, *object,
      tracks || object->contains("unevaluatedProperties") || object->contains("unevaluatedItems")};
  if (open_.size() >= kMaxOpenReferences)
    refuse(scope, "$ref", "is one of too many in a row: combine them");
  if (!open_.insert(&schema).second) {
    refuse(scope, "$ref", "refers back to itself without a property or an item between: remove it");
  }
  try {
    ValueCases cases = evaluate_object(scope);
    open_.erase(&schema);
    return cases;
  } catch (...) {
    open_.erase(&schema);
    throw;
  }
}

ValueCases SchemaReader::evaluate_object(const Scope& scope) {
  ValueCases cases{algebra_.anything()};
  auto join = [&](auto work) { attempt([&] { cases = joined(cases, work()); }); };
  const bool old = document_.draft() <= SchemaDraft::k7;
  const auto reference = scope.object.find("$ref");
  if (old && reference != scope.object.end()) {
    join([&] { return applied(scope, *reference); });
    return cases;
  }
  const bool has_properties = scope.find("properties") != nullptr;
  if (!has_properties) join([&] { return assertions(scope); });
  for (const Member& member : scope.object) {
    if (member.key() == "properties") join([&] { return assertions(scope); });
    if (is_applicator(member.key())) join([&] { return applied(scope, member); });
  }
  if (scope.find("if") != nullptr) join([&] { return conditional(scope); });
  for (std::string_view keyword : {"unevaluatedProperties", "unevaluatedItems"}) {
    const auto member = scope.object.find(keyword);
    if (member == scope.object.end()) continue;
    attempt([&] { cases = unevaluated(scope, *member, cases); });
  }
  return cases;
}

ValueCases SchemaReader::negate(const ValueCases& cases, const Value& schema,
                                std::string_view keyword) {
  try {
    return algebra_.negation(cases, &schema);
  } catch (const CannotNegate& cannot) {
    document_.refuse(schema, keyword,
                     fmt::format("needs the opposite of \"{}\", which is not supported: describe "
                                 "what is allowed instead",
                                 cannot.what));
  }
}

// Returns the cases that satisfy both `a` and `b`. If `a` or `b` has several cases, leaves out
// those that no value satisfies.
ValueCases SchemaReader::joined(const ValueCases& a, const ValueCases& b) {
  ValueCases all = algebra_.both(a, b);
  if (a.size() > 1 && b.size() > 1) {
    std::erase_if(all, [&](const ValueCase& value) { return !inhabited(value, kLookAhead); });
  }
  return all;
}

// Returns false only if it is certain that no value satisfies the case.
bool SchemaReader::inhabited(const ValueCase& value, uint32_t depth) {
  if (value.types & ~kContainers) return true;
  bool array = (value.types & kArrayBit) != 0;
  for (size_t i = 0; array && i < value.array.prefix.size() && i < value.array.least; ++i) {
    array = may_hold(value.array.prefix[i], depth);
  }
  bool object = (value.types & kObjectBit) != 0;
  for (const NamedProperty& property : value.object.named) {
    if (object && property.required) object = may_hold(property.goal, depth);
  }
  return array || object;
}

bool SchemaReader::may_hold(GoalId goal, uint32_t depth) {
  if (goal == kAnyGoal || depth == 0) return true;
  if (goal == kNoGoal) return false;
  auto [known, added] = holds_.emplace(goal, true);  // true while it is being decided
  if (!added) return known->second;
  bool holds = true;
  std::set<const Value*> others;
  others.swap(open_);  // open_ is about one value; this is another
  try {
    const ValueCases& all = cases(goal);
    holds = std::ranges::any_of(
        all, [&](const ValueCase& value) { return inhabited(value, depth - 1); });
  } catch (const SchemaTooComplex&) {
    throw;
  } catch (const Error&) {  // is reported when the goal is opened for good
    holds_.erase(goal);
  }
  open_.swap(others);
  if (!holds) holds_[goal] = false;
  return holds;
}

}  // namespace hearth
