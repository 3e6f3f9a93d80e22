// SchemaWriter's rules for objects: properties in order, each present or not, then additional ones.
#include "grammar/schema_writer.h"

#include <algorithm>

namespace hearth {
namespace {

// Returns up to which number properties are counted: the upper limit or, without one, the lower
// limit.
uint64_t counted_up_to(const ObjectCase& object) {
  return object.most != kUnbounded ? object.most : std::max<uint64_t>(1, object.least);
}

// The most names that may come in any order, among the additional properties. These are the named
// properties that no "properties" declares.
constexpr size_t kMaxLooseNames = 5;

bool is_loose(const NamedProperty& property) {
  return !property.declared && property.goal != kNoGoal;
}

bool may_be_empty(const ObjectCase& object) {
  return object.least == 0 && object.witnesses.empty() &&
         std::ranges::none_of(object.named, &NamedProperty::required);
}

bool has_loose(const ObjectCase& object) {
  const auto count = std::ranges::count_if(object.named, is_loose);
  return count > 0 && static_cast<size_t>(count) <= kMaxLooseNames;
}

}  // namespace

// Turns classes with few names into named properties, so that no further name is begun once all of
// them have come.
ObjectCase SchemaWriter::with_few_named(ObjectCase object) {
  std::vector<NameClass> others;
  for (const NameClass& some : object.classes) {
    if (some.names != texts_.any_string()) builder_.note_tight_names();
    const RegexId names = algebra_.without_named(object, some.names);
    const auto few = texts_.set().is_finite(names) ? texts_.few_strings(names) : std::nullopt;
    if (!few) {
      others.push_back(some);
      continue;
    }
    for (const std::string& name : *few) object.named.push_back({name, some.goal});
  }
  object.classes = std::move(others);
  return object;
}

void SchemaWriter::write_object(Symbol rule, const ObjectCase& object) {
  std::vector<ObjectCase> resolved;
  resolve_witnesses(with_few_named(object), 0, resolved);
  for (const ObjectCase& one : resolved) {
    if (may_be_empty(one)) add(rule, {empty_object_});
    if (one.most > 0) add(rule, {open_object_, members(one), close_object_});
  }
}

Symbol SchemaWriter::write_members(GoalId goal) {
  const Symbol rule = builder_.rule("members");
  const ValueCases cases = reader_.cases(goal);
  outermost_ = true;
  for (const ValueCase& one : cases) {
    if ((one.types & kObjectBit) == 0) continue;
    std::vector<ObjectCase> resolved;
    resolve_witnesses(with_few_named(one.object), 0, resolved);
    for (const ObjectCase& object : resolved) {
      if (may_be_empty(object)) add(rule, {});
      if (object.most > 0) add(rule, {members(object)});
    }
  }
  outermost_ = false;
  write_waiting();
  return rule;
}

// Finds the ways to satisfy the witnesses: each witness is one of the named properties, or an
// additional one.
void SchemaWriter::resolve_witnesses(const ObjectCase& object, size_t next,
                                     std::vector<ObjectCase>& out) {
  budget_.spend();
  if (next == object.witnesses.size()) {
    out.push_back(object);
    return;
  }
  const NameClass& witness = object.witnesses[next];
  for (size_t i = 0; i < object.named.size(); ++i) {
    if (!texts_.matches(witness.names, object.named[i].name)) continue;
    ObjectCase other = object;
    other.named[i].goal = goals_.both(other.named[i].goal, witness.goal);
    other.named[i].required = true;
    other.witnesses.erase(other.witnesses.begin() + static_cast<std::ptrdiff_t>(next));
    if (other.named[i].goal != kNoGoal) resolve_witnesses(other, next, out);
  }
  resolve_witnesses(object, next + 1, out);
}

Symbol SchemaWriter::pair(RegexId names, GoalId goal) {
  const RegexId parts[] = {texts_.quoted(names), with_space(space_, ":", space_)};
  const Symbol rule = builder_.rule("property");
  add(rule, {builder_.terminal(texts_.set().concat(parts)), value(goal)});
  return rule;
}

// Writes the members between the braces, at least one. There is a rule for each place in the order
// and each number of properties before that place.
Symbol SchemaWriter::members(const ObjectCase& object) {
  const uint64_t counted = counted_up_to(object);
  const bool bounded = object.most != kUnbounded;
  std::vector<const NamedProperty*> named;
  const bool loose = has_loose(object);
  for (const NamedProperty& property : object.named) {
    if (property.goal == kNoGoal && !property.required) continue;
    if (!loose || !is_loose(property)) named.push_back(&property);
  }
  auto counts = [&](size_t place) { return std::min<uint64_t>(place, counted) + 1; };
  Symbols behind;  // the rules of the next place, by number of properties before it
  for (uint64_t count = 0; count < counts(named.size()); ++count) {
    behind.push_back(builder_.rule("end"));
    end_members(behind.back(), object, count);
  }
  for (size_t place = named.size(); place-- > 0;) {
    const NamedProperty& property = *named[place];
    const Symbol here = pair(texts_.usual(property.name), property.goal);
    Symbols rules;
    for (uint64_t count = 0; count < counts(place); ++count) {
      const Symbol rule = builder_.rule("members");
      rules.push_back(rule);
      if (!property.required) add(rule, {behind[count]});
      if (bounded && count == object.most) continue;
      const Symbol next = behind[std::min(count + 1, counted)];
      if (count == 0) add(rule, {here, next});
      if (count > 0) add(rule, {comma_, here, next});
    }
    behind = std::move(rules);
  }
  return behind[0];
}

// Ends an object after `count` properties, or continues it with additional ones.
void SchemaWriter::end_members(Symbol rule, const ObjectCase& object, uint64_t count) {
  if (!object.witnesses.empty() || has_loose(object)) {
    add(rule, {loose_members(object, count)});
    return;
  }
  if (count > 0 && count >= object.least) add(rule, {});
  const uint64_t least = object.least > count ? object.least - count : 1;
  const uint64_t most = object.most == kUnbounded ? kUnbounded : object.most - count;
  if (most == 0 || object.classes.empty()) return;
  const Symbol others = builder_.repeated(additional(object), comma_, least, most);
  if (count == 0) add(rule, {others});
  if (count > 0) add(rule, {comma_, others});
}

// Writes an additional property.
Symbol SchemaWriter::additional(const ObjectCase& object) {
  const Symbol rule = builder_.rule("additional");
  for (const NameClass& some : object.classes) {
    const RegexId names = algebra_.without_named(object, some.names);
    if (!texts_.is_empty(names)) add(rule, {pair(names, some.goal)});
  }
  return rule;
}

// Returns the additional properties that need separate rules.
std::vector<SchemaWriter::LooseProperty> SchemaWriter::loose_properties(const ObjectCase& object) {
  std::vector<LooseProperty> all;
  for (const NamedProperty& property : object.named) {
    if (!has_loose(object) || !is_loose(property)) continue;
    all.push_back({{pair(texts_.usual(property.name), property.goal)}, property.required});
  }
  for (const NameClass& witness : object.witnesses) {
    all.push_back({{}, true});
    for (const NameClass& some : object.classes) {
      const RegexId names = algebra_.without_named(object, texts_.both(some.names, witness.names));
      if (texts_.is_empty(names)) continue;
      all.back().rules.push_back(pair(names, goals_.both(some.goal, witness.goal)));
    }
  }
  return all;
}

// Writes additional properties, if some of them are witnesses or names without an order. A state
// has the number of properties so far, and for each witness and each such name a bit that says
// whether it has come.
Symbol SchemaWriter::loose_members(const ObjectCase& object, uint64_t count) {
  const uint64_t counted = counted_up_to(object);
  const std::vector<LooseProperty> loose = loose_properties(object);
  const Symbol any = additional(object);
  States states;
  std::vector<State> todo;
  const Symbol start = state(states, todo, {count, 0});
  while (!todo.empty()) {
    const State from = todo.back();
    todo.pop_back();
    const Symbol rule = states.at(from);
    auto go = [&](Symbol property, uint64_t there) {
      const Symbol next = state(states, todo, {std::min(from[0] + 1, counted), there});
      if (from[0] == 0) add(rule, {property, next});
      if (from[0] > 0) add(rule, {comma_, property, next});
    };
    bool may_end = from[0] > 0 && from[0] >= object.least;
    const bool full = from[0] == object.most;
    for (size_t i = 0; i < loose.size(); ++i) {
      const uint64_t bit = uint64_t{1} << i;
      if ((from[1] & bit) != 0) continue;
      may_end = may_end && !loose[i].required;
      for (Symbol property : loose[i].rules) {
        if (!full) go(property, from[1] | bit);
      }
    }
    if (may_end) add(rule, {});
    if (!full && !object.classes.empty()) go(any, from[1]);
  }
  return start;
}

}  // namespace hearth
