// SchemaReader's keywords that restrict arrays and objects.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "grammar/schema_reader.h"

namespace hearth {
namespace {

namespace json = boost::json;

constexpr size_t kMaxClasses = 64;  // kinds of names that "patternProperties" tells apart

}  // namespace

void SchemaReader::read_array(const Scope& scope, ValueCase& value) {
  ArrayCase& array = value.array;
  const Value* items = scope.find("items");
  const Value* rest = items;
  const Value* prefix = scope.find("prefixItems");
  if (prefix == nullptr && items != nullptr && items->is_array()) {  // the form before 2020-12
    prefix = items;
    rest = scope.find("additionalItems");
  }
  if (prefix != nullptr) {
    if (!prefix->is_array()) refuse(scope, "prefixItems", "must be a list of schemas");
    for (const Value& item : prefix->get_array()) array.prefix.push_back(goals_.schema(item));
  }
  if (rest != nullptr) array.rest = goals_.schema(*rest);
  value.evaluated.items = rest != nullptr ? kUnbounded : array.prefix.size();
  for (const Member& member : scope.object) {
    const std::string_view keyword = member.key();
    if (keyword == "minItems") array.least = count(scope, member);
    if (keyword == "maxItems") array.most = count(scope, member);
    if (keyword == "uniqueItems") {
      if (!member.value().is_bool()) refuse(scope, keyword, "must be true or false");
      array.unique = member.value().get_bool();
    }
  }
  read_contains(scope, value);
}

void SchemaReader::read_contains(const Scope& scope, ValueCase& value) {
  const Value* contains = scope.find("contains");
  if (contains == nullptr) return;
  ContainsRule rule{goals_.schema(*contains)};
  const auto least = scope.object.find("minContains");
  const auto most = scope.object.find("maxContains");
  if (least != scope.object.end()) rule.least = count(scope, *least);
  if (most != scope.object.end()) rule.most = count(scope, *most);
  if (document_.draft() == SchemaDraft::k2020) value.evaluated.items_where.push_back(rule.goal);
  if (rule.least > 0 || rule.most != kUnbounded) value.array.contains.push_back(rule);
}

void SchemaReader::read_object(const Scope& scope, ValueCase& value) {
  attempt([&] { read_properties(scope, value); });
  attempt([&] {
    const std::vector<NameClass> patterns = read_patterns(scope);
    for (NamedProperty& property : value.object.named) {
      for (const NameClass& some : patterns) {
        if (!texts_.matches(some.names, property.name)) continue;
        property.goal = goals_.both(property.goal, some.goal);
      }
    }
    value.object.classes = split_classes(scope, patterns);
    for (const NameClass& some : patterns) {
      value.evaluated.names = texts_.either(value.evaluated.names, some.names);
    }
    if (scope.find("additionalProperties") != nullptr) {
      value.evaluated.names = texts_.any_string();
    }
  });
  for (const Member& member : scope.object) {
    attempt([&] {
      if (member.key() == "minProperties") value.object.least = count(scope, member);
      if (member.key() == "maxProperties") value.object.most = count(scope, member);
      if (member.key() == "required") read_required(scope, member, value.object);
    });
  }
}

void SchemaReader::read_properties(const Scope& scope, ValueCase& value) {
  const Value* properties = scope.find("properties");
  if (properties == nullptr) return;
  if (!properties->is_object()) refuse(scope, "properties", "must be an object");
  std::vector<std::string_view> names;
  for (const Member& member : properties->get_object()) {
    budget_.spend();
    names.push_back(member.key());
    value.object.named.push_back({member.key(), goals_.schema(member.value()), false, true});
  }
  value.evaluated.names = texts_.one_of(names);
}

std::vector<NameClass> SchemaReader::read_patterns(const Scope& scope) {
  std::vector<NameClass> patterns;
  const Value* given = scope.find("patternProperties");
  if (given == nullptr) return patterns;
  if (!given->is_object()) refuse(scope, "patternProperties", "must be an object");
  for (const Member& member : given->get_object()) {
    patterns.push_back(
        {pattern(scope, "patternProperties", member.key()), goals_.schema(member.value())});
  }
  return patterns;
}

// Splits the names that "properties" does not have into classes, by which patterns a name matches.
// Names that match no pattern are additional ones.
std::vector<NameClass> SchemaReader::split_classes(const Scope& scope,
                                                   const std::vector<NameClass>& patterns) {
  const Value* additional = scope.find("additionalProperties");
  RegexId others = texts_.any_string();
  std::vector<NameClass> matched;
  for (const NameClass& rule : patterns) {
    std::vector<NameClass> finer;
    auto add = [&](RegexId names, GoalId goal) {
      budget_.spend();
      if (!texts_.is_empty(names)) finer.push_back({names, goal});
    };
    for (const NameClass& some : matched) {
      add(texts_.both(some.names, rule.names), goals_.both(some.goal, rule.goal));
      add(texts_.without(some.names, rule.names), some.goal);
    }
    add(texts_.both(others, rule.names), rule.goal);
    others = texts_.without(others, rule.names);
    matched = std::move(finer);
    if (matched.size() > kMaxClasses) {
      refuse(scope, "patternProperties", "has too many overlapping patterns: give fewer");
    }
  }
  if (!texts_.is_empty(others)) {
    matched.push_back({others, additional == nullptr ? kAnyGoal : goals_.schema(*additional)});
  }
  std::erase_if(matched, [](const NameClass& some) { return some.goal == kNoGoal; });
  return matched;
}

std::vector<std::string> SchemaReader::names(const Scope& scope, std::string_view keyword,
                                             const Value& list) const {
  std::vector<std::string> names;
  std::unordered_set<std::string_view> known;
  bool strings = list.is_array();
  if (strings) {
    for (const Value& name : list.get_array()) {
      strings = strings && name.is_string();
      if (!strings || !known.insert(name.get_string()).second) continue;
      names.emplace_back(name.get_string());
    }
  }
  if (!strings) refuse(scope, keyword, "must be a list of names");
  return names;
}

void SchemaReader::read_required(const Scope& scope, const Member& member, ObjectCase& object) {
  std::map<std::string_view, size_t> places;
  for (size_t i = 0; i < object.named.size(); ++i) places.emplace(object.named[i].name, i);
  std::vector<NamedProperty> others;
  for (const std::string& name : names(scope, "required", member.value())) {
    budget_.spend();
    auto at = places.find(name);
    if (at != places.end()) {
      object.named[at->second].required = true;
    } else {
      others.push_back({name, algebra_.goal_in(object.classes, name), true, false});
    }
  }
  std::ranges::move(others, std::back_inserter(object.named));
}

}  // namespace hearth
