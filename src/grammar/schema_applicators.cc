// SchemaReader's keywords that apply other schemas to the same value.
#include <fmt/format.h>

#include <algorithm>

#include "grammar/schema_reader.h"

namespace hearth {
namespace {

namespace json = boost::json;

constexpr size_t kMaxTrackedBranches = 10;

// Returns the schema S of {"not": S}; null where `schema` has other keywords.
const json::value* only_negated(const json::value& schema) {
  const json::object* object = schema.if_object();
  const json::value* negated = object == nullptr ? nullptr : object->if_contains("not");
  return negated != nullptr && object->size() == 1 ? negated : nullptr;
}

}  // namespace

ValueCases SchemaReader::applied(const Scope& scope, const Member& member) {
  const std::string_view keyword = member.key();
  const Value& value = member.value();
  if (keyword.ends_with("Ref") || keyword == "$ref") {
    const json::string* name = value.if_string();
    if (name == nullptr) refuse(scope, keyword, "must be a string");
    return evaluate(keyword == "$ref" ? document_.resolve(scope.schema, keyword, *name)
                                      : document_.resolve_dynamic(scope.schema, keyword, *name),
                    scope.tracks);
  }
  if (keyword == "anyOf") return any_of(scope, member);
  if (keyword == "oneOf") return one_of(scope, member);
  if (keyword == "not") {
    const Value* twice = only_negated(value);
    if (twice != nullptr) return evaluate(*twice, false);
    return negate(strictly([&] { return evaluate(value, false); }), scope.schema, keyword);
  }
  if (keyword == "propertyNames") {
    ValueCase filter = algebra_.anything();
    RegexId names = texts_.nothing();
    for (const ValueCase& some : evaluate(value, false)) {
      if (some.types & kStringBit) names = texts_.either(names, some.strings);
    }
    filter.object.classes = {{names, kAnyGoal}};
    return {filter};
  }
  if (keyword == "allOf") {
    ValueCases all{algebra_.anything()};
    for (const ValueCases& branch : branches(scope, member)) all = joined(all, branch);
    return all;
  }
  return dependencies(scope, member);
}

std::vector<ValueCases> SchemaReader::branches(const Scope& scope, const Member& member) {
  const json::array* list = member.value().if_array();
  if (list == nullptr || list->empty()) {
    refuse(scope, member.key(), "must be a list of schemas that is not empty");
  }
  std::vector<ValueCases> all;
  for (const Value& schema : *list) all.push_back(evaluate(schema, scope.tracks));
  return all;
}

// If evaluated members matter, all branches that hold count. So then every set of branches becomes
// a case.
ValueCases SchemaReader::any_of(const Scope& scope, const Member& member) {
  const std::vector<ValueCases> all = branches(scope, member);
  if (!scope.tracks) {
    ValueCases some;
    for (const ValueCases& branch : all) some = algebra_.either(std::move(some), branch);
    return some;
  }
  if (all.size() > kMaxTrackedBranches) {
    refuse(scope, member.key(),
           fmt::format("has more than {} branches next to unevaluatedProperties or "
                       "unevaluatedItems: give fewer",
                       kMaxTrackedBranches));
  }
  ValueCases some;
  for (uint32_t chosen = 1; chosen < (uint32_t{1} << all.size()); ++chosen) {
    ValueCases together{algebra_.anything()};
    for (size_t i = 0; i < all.size(); ++i) {
      if (chosen >> i & 1) together = joined(together, all[i]);
    }
    some = algebra_.either(std::move(some), together);
  }
  return some;
}

// Branches that share no values are united as in anyOf. If they share some, the values of all other
// branches are subtracted from each.
ValueCases SchemaReader::one_of(const Scope& scope, const Member& member) {
  ValueCases some;
  auto exactly = [&] {
    const std::vector<ValueCases> all = branches(scope, member);
    for (size_t i = 0; i < all.size(); ++i) {
      ValueCases alone = all[i];
      for (size_t j = 0; j < all.size(); ++j) {
        if (j == i || joined(alone, all[j]).empty()) continue;
        alone = joined(alone, negate(all[j], scope.schema, member.key()));
      }
      some = algebra_.either(std::move(some), alone);
    }
  };
  if (!attempt([&] { strictly(exactly); })) return any_of(scope, member);
  return some;
}

ValueCases SchemaReader::conditional(const Scope& scope) {
  const Value* then = scope.find("then");
  const Value* otherwise = scope.find("else");
  if (then == nullptr && otherwise == nullptr && !scope.tracks) return {algebra_.anything()};
  ValueCases condition = strictly([&] { return evaluate(*scope.find("if"), scope.tracks); });
  ValueCases contrary = negate(condition, scope.schema, "if");
  if (then != nullptr) condition = joined(condition, evaluate(*then, scope.tracks));
  if (otherwise != nullptr) contrary = joined(contrary, evaluate(*otherwise, scope.tracks));
  return algebra_.either(std::move(condition), contrary);
}

// Reads "dependencies" and its two successors: if a property exists, others must exist, too, or a
// schema must hold.
ValueCases SchemaReader::dependencies(const Scope& scope, const Member& member) {
  const json::object* all = member.value().if_object();
  if (all == nullptr) refuse(scope, member.key(), "must be an object");
  ValueCases cases{algebra_.anything()};
  for (const Member& dependency : *all) {
    ValueCase absent = algebra_.anything();
    absent.object.named.push_back({dependency.key(), kNoGoal});
    ValueCase present = algebra_.only(kObjectBit);
    present.object.named.push_back({dependency.key(), kAnyGoal, true});
    ValueCases with{present};
    if (dependency.value().is_array()) {
      for (const std::string& name : names(scope, member.key(), dependency.value())) {
        if (name == dependency.key()) continue;
        with[0].object.named.push_back({name, kAnyGoal, true});
      }
    } else {
      with = joined(with, evaluate(dependency.value(), scope.tracks));
    }
    cases = joined(cases, algebra_.either({absent}, with));
  }
  return cases;
}

ValueCases SchemaReader::unevaluated(const Scope& scope, const Member& member, ValueCases cases) {
  const GoalId goal = goals_.schema(member.value());
  const bool items = member.key() == "unevaluatedItems";
  ValueCases out;
  for (const ValueCase& value : cases) {
    ValueCase filter = algebra_.anything();
    const Evaluated& evaluated = value.evaluated;
    if (!items) {
      filter.object.classes = {{evaluated.names, kAnyGoal},
                               {texts_.without(texts_.any_string(), evaluated.names), goal}};
      filter.evaluated.names = texts_.any_string();
    } else if (evaluated.items != kUnbounded) {
      filter.array.prefix.assign(evaluated.items, kAnyGoal);
      filter.array.rest = goal;
      for (GoalId other : evaluated.items_where) {
        filter.array.rest = goals_.either(filter.array.rest, other, &scope.schema);
      }
      filter.evaluated.items = kUnbounded;
    }
    out = algebra_.either(std::move(out), algebra_.both(ValueCases{value}, ValueCases{filter}));
  }
  return out;
}

}  // namespace hearth
