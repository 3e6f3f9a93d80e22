#include "grammar/schema_algebra.h"

#include <algorithm>
#include <map>

namespace hearth {
namespace {

constexpr size_t kMaxCases = 4096;  // of one set of values

void add_contains(std::vector<ContainsRule>& rules, const ContainsRule& rule) {
  for (ContainsRule& known : rules) {
    if (known.goal != rule.goal || known.from != rule.from) continue;
    known.least = std::max(known.least, rule.least);
    known.most = std::min(known.most, rule.most);
    return;
  }
  rules.push_back(rule);
}

// Moves names that "properties" declared to the front, in their order.
void sort_declared(std::vector<NamedProperty>& named) {
  std::stable_partition(named.begin(), named.end(),
                        [](const NamedProperty& property) { return property.declared; });
}

bool takes_all(const ObjectCase& object, RegexId any_name) {
  return object.named.empty() && object.least == 0 && object.most == kUnbounded &&
         object.witnesses.empty() && object.classes.size() == 1 &&
         object.classes[0].names == any_name && object.classes[0].goal == kAnyGoal;
}

}  // namespace

ValueCase SchemaAlgebra::anything() const {
  ValueCase all;
  all.numbers = texts_.number();
  all.strings = texts_.any_string();
  all.object.classes = {{texts_.any_string(), kAnyGoal}};
  all.evaluated.names = texts_.nothing();
  return all;
}

ValueCase SchemaAlgebra::only(TypeBits types) const {
  ValueCase some = anything();
  some.types = types;
  return some;
}

GoalId SchemaAlgebra::goal_of(const ObjectCase& object, std::string_view name) const {
  for (const NamedProperty& property : object.named) {
    if (property.name == name) return property.goal;
  }
  return goal_in(object.classes, name);
}

GoalId SchemaAlgebra::goal_in(std::span<const NameClass> classes, std::string_view name) const {
  for (const NameClass& some : classes) {
    if (texts_.matches(some.names, name)) return some.goal;
  }
  return kNoGoal;
}

RegexId SchemaAlgebra::without_named(const ObjectCase& object, RegexId names) const {
  std::vector<std::string_view> taken;
  for (const NamedProperty& property : object.named) taken.push_back(property.name);
  return texts_.without(names, texts_.one_of(taken));
}

// Removes the types for which no value is left. Returns false where no type remains.
bool SchemaAlgebra::holds_something(ValueCase& value) const {
  auto drop = [&](TypeBits type, bool empty) {
    if (empty) value.types &= static_cast<TypeBits>(~type);
  };
  if (value.types & kNumberBit) drop(kNumberBit, texts_.is_empty(value.numbers));
  if (value.types & kStringBit) drop(kStringBit, texts_.is_empty(value.strings));
  if (value.types & kArrayBit) {
    const ArrayCase& array = value.array;
    bool empty = array.least > array.most;
    for (size_t i = 0; i < array.prefix.size() && i < array.least; ++i) {
      empty = empty || array.prefix[i] == kNoGoal;
    }
    empty = empty || (array.least > array.prefix.size() && array.rest == kNoGoal);
    for (const ContainsRule& rule : array.contains) empty = empty || rule.least > rule.most;
    drop(kArrayBit, empty);
  }
  if (value.types & kObjectBit) {
    const ObjectCase& object = value.object;
    bool empty = object.least > object.most;
    for (const NamedProperty& property : object.named) {
      empty = empty || (property.required && property.goal == kNoGoal);
    }
    drop(kObjectBit, empty);
  }
  return value.types != 0;
}

ArrayCase SchemaAlgebra::both(const ArrayCase& a, const ArrayCase& b) {
  ArrayCase out;
  for (size_t i = 0; i < std::max(a.prefix.size(), b.prefix.size()); ++i) {
    out.prefix.push_back(goals_.both(i < a.prefix.size() ? a.prefix[i] : a.rest,
                                     i < b.prefix.size() ? b.prefix[i] : b.rest));
  }
  out.rest = goals_.both(a.rest, b.rest);
  out.least = std::max(a.least, b.least);
  out.most = std::min(a.most, b.most);
  out.contains = a.contains;
  for (const ContainsRule& rule : b.contains) add_contains(out.contains, rule);
  out.unique = a.unique || b.unique;
  return out;
}

std::vector<NamedProperty> SchemaAlgebra::join_named(const ObjectCase& a, const ObjectCase& b) {
  std::map<std::string_view, size_t> places;
  std::vector<NamedProperty> named;
  for (const NamedProperty& property : a.named) {
    budget_.spend();
    places.emplace(property.name, named.size());
    named.push_back(property);
  }
  std::vector<bool> in_both(named.size());
  for (const NamedProperty& property : b.named) {
    budget_.spend();
    auto at = places.find(property.name);
    if (at != places.end()) {
      NamedProperty& joined = named[at->second];
      in_both[at->second] = true;
      joined.goal = goals_.both(joined.goal, property.goal);
      joined.required |= property.required;
      joined.declared |= property.declared;
    } else {
      named.push_back(property);
      named.back().goal = goals_.both(property.goal, goal_in(a.classes, property.name));
    }
  }
  for (size_t i = 0; i < in_both.size(); ++i) {
    if (in_both[i]) continue;
    named[i].goal = goals_.both(named[i].goal, goal_in(b.classes, named[i].name));
  }
  sort_declared(named);
  return named;
}

std::vector<NameClass> SchemaAlgebra::join_classes(const ObjectCase& a, const ObjectCase& b) {
  std::vector<NameClass> classes;
  for (const NameClass& one : a.classes) {
    for (const NameClass& other : b.classes) {
      budget_.spend();
      const RegexId names = texts_.both(one.names, other.names);
      if (texts_.is_empty(names)) continue;
      classes.push_back({names, goals_.both(one.goal, other.goal)});
    }
  }
  std::erase_if(classes, [](const NameClass& some) { return some.goal == kNoGoal; });
  return classes;
}

ObjectCase SchemaAlgebra::both(const ObjectCase& a, const ObjectCase& b) {
  if (takes_all(a, texts_.any_string())) return b;
  if (takes_all(b, texts_.any_string())) return a;
  ObjectCase out;
  out.named = join_named(a, b);
  out.classes = join_classes(a, b);
  out.least = std::max(a.least, b.least);
  out.most = std::min(a.most, b.most);
  out.witnesses = a.witnesses;
  out.witnesses.insert(out.witnesses.end(), b.witnesses.begin(), b.witnesses.end());
  return out;
}

std::optional<ValueCase> SchemaAlgebra::join(const ValueCase& a, const ValueCase& b) {
  budget_.spend();
  ValueCase out;
  out.types = a.types & b.types;
  out.numbers = out.types & kNumberBit ? texts_.both(a.numbers, b.numbers) : texts_.nothing();
  out.strings = out.types & kStringBit ? texts_.both(a.strings, b.strings) : texts_.nothing();
  if (out.types & kArrayBit) out.array = both(a.array, b.array);
  if (out.types & kObjectBit) out.object = both(a.object, b.object);
  out.evaluated.names = texts_.either(a.evaluated.names, b.evaluated.names);
  out.evaluated.items = std::max(a.evaluated.items, b.evaluated.items);
  out.evaluated.items_where = a.evaluated.items_where;
  for (GoalId goal : b.evaluated.items_where) out.evaluated.items_where.push_back(goal);
  if (!holds_something(out)) return std::nullopt;
  return out;
}

ValueCases SchemaAlgebra::both(const ValueCases& a, const ValueCases& b) {
  ValueCases out;
  for (const ValueCase& one : a) {
    for (const ValueCase& other : b) {
      if (std::optional<ValueCase> joined = join(one, other)) out.push_back(std::move(*joined));
    }
  }
  if (out.size() > kMaxCases) budget_.spend(kUnbounded);
  return either({}, out);
}

ValueCases SchemaAlgebra::either(ValueCases a, const ValueCases& b) {
  a.insert(a.end(), b.begin(), b.end());
  // The types without arrays and objects form one case, the last.
  ValueCase plain = only(0);
  std::vector<RegexId> numbers;
  std::vector<RegexId> strings;
  ValueCases out;
  for (ValueCase& value : a) {
    budget_.spend();
    plain.types |= static_cast<TypeBits>(value.types & ~kContainers);
    if (value.types & kNumberBit) numbers.push_back(value.numbers);
    if (value.types & kStringBit) strings.push_back(value.strings);
    value.types &= kContainers;
    if (value.types != 0) out.push_back(std::move(value));
  }
  plain.numbers = texts_.any_of(numbers);
  plain.strings = texts_.any_of(strings);
  if (plain.types != 0) out.push_back(std::move(plain));
  return out;
}

void SchemaAlgebra::negate(const ArrayCase& array, const boost::json::value* asked_by,
                           ValueCases& out) {
  auto add = [&](auto change) {
    ValueCase value = only(kArrayBit);
    change(value.array);
    out.push_back(std::move(value));
  };
  if (array.unique) throw CannotNegate{"uniqueItems"};
  if (array.least > 0) add([&](ArrayCase& other) { other.most = array.least - 1; });
  if (array.most != kUnbounded) add([&](ArrayCase& other) { other.least = array.most + 1; });
  for (size_t i = 0; i < array.prefix.size(); ++i) {
    if (array.prefix[i] == kAnyGoal) continue;
    add([&](ArrayCase& other) {
      other.least = i + 1;
      other.prefix.assign(i, kAnyGoal);
      other.prefix.push_back(goals_.negation(array.prefix[i], asked_by));
    });
  }
  if (array.rest != kAnyGoal) {
    add([&](ArrayCase& other) {
      other.least = array.prefix.size() + 1;
      if (array.rest == kNoGoal) return;
      other.contains.push_back({goals_.negation(array.rest, asked_by), array.prefix.size()});
    });
  }
  for (const ContainsRule& rule : array.contains) {
    if (rule.least > 0) {
      add([&](ArrayCase& other) {
        other.contains.push_back({rule.goal, rule.from, 0, rule.least - 1});
      });
    }
    if (rule.most != kUnbounded) {
      add([&](ArrayCase& other) {
        other.contains.push_back({rule.goal, rule.from, rule.most + 1, kUnbounded});
      });
    }
  }
}

void SchemaAlgebra::negate(const ObjectCase& object, const boost::json::value* asked_by,
                           ValueCases& out) {
  auto add = [&](auto change) {
    budget_.spend();
    ValueCase value = only(kObjectBit);
    change(value.object);
    out.push_back(std::move(value));
  };
  auto add_witness = [&](RegexId names, GoalId goal) {
    names = without_named(object, names);
    if (texts_.is_empty(names)) return;
    add([&](ObjectCase& other) { other.witnesses.push_back({names, goal}); });
  };
  for (const NameClass& witness : object.witnesses) {
    add([&](ObjectCase& other) {
      other.classes = {{witness.names, goals_.negation(witness.goal, asked_by)},
                       {texts_.without(texts_.any_string(), witness.names), kAnyGoal}};
    });
  }
  if (object.least > 0) add([&](ObjectCase& other) { other.most = object.least - 1; });
  if (object.most != kUnbounded) add([&](ObjectCase& other) { other.least = object.most + 1; });
  for (const NamedProperty& property : object.named) {
    if (property.required) {
      add([&](ObjectCase& other) { other.named.push_back({property.name, kNoGoal}); });
    }
    if (property.goal == kAnyGoal) continue;
    const GoalId wrong = goals_.negation(property.goal, asked_by);
    add([&](ObjectCase& other) { other.named.push_back({property.name, wrong, true}); });
  }
  RegexId allowed = texts_.nothing();
  for (const NameClass& some : object.classes) {
    allowed = texts_.either(allowed, some.names);
    if (some.goal == kAnyGoal) continue;
    add_witness(some.names, goals_.negation(some.goal, asked_by));
  }
  if (allowed != texts_.any_string()) {
    add_witness(texts_.without(texts_.any_string(), allowed), kAnyGoal);
  }
}

ValueCases SchemaAlgebra::negation(const ValueCase& value, const boost::json::value* asked_by) {
  ValueCase other = only(static_cast<TypeBits>(kAllTypes & ~value.types));
  if (value.types & kNumberBit) {
    other.numbers = texts_.without(texts_.plain_number(), value.numbers);
    other.types |= kNumberBit;
  }
  if (value.types & kStringBit) {
    other.strings = texts_.without(texts_.any_string(), value.strings);
    other.types |= kStringBit;
  }
  ValueCases out;
  if (holds_something(other)) out.push_back(std::move(other));
  if (value.types & kArrayBit) negate(value.array, asked_by, out);
  if (value.types & kObjectBit) negate(value.object, asked_by, out);
  return out;
}

ValueCases SchemaAlgebra::negation(const ValueCases& cases, const boost::json::value* asked_by) {
  ValueCases out{anything()};
  for (const ValueCase& value : cases) out = both(out, negation(value, asked_by));
  return out;
}

}  // namespace hearth
