// SchemaWriter's rules for arrays.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "grammar/schema_writer.h"

namespace hearth {
namespace {

constexpr size_t kMaxContains = 4;

uint64_t less(uint64_t count, uint64_t by) {
  if (count == kUnbounded) return count;
  return count > by ? count - by : 0;
}

GoalId item_goal(const ArrayCase& array, uint64_t place) {
  return place < array.prefix.size() ? array.prefix[place] : array.rest;
}

}  // namespace

void SchemaWriter::write_array(Symbol rule, GoalId goal, ArrayCase array) {
  if (array.unique && array.most > 1) {
    Symbol items{};
    if (reader_.attempt([&] { items = unique_items(goal, array); })) {
      add(rule, {items});
      return;
    }
  }
  if (!array.contains.empty()) {
    Symbol items{};
    if (reader_.attempt([&] { items = counted_items(goal, array); })) {
      add(rule, {items});
      return;
    }
  }
  if (array.least == 0) add(rule, {empty_array_});
  if (array.most > 0) add(rule, {open_array_, plain_items(array), close_array_});
}

// Writes at least one item, with a rule for each place of the prefix.
Symbol SchemaWriter::plain_items(const ArrayCase& array) {
  const uint64_t places = std::min<uint64_t>(array.prefix.size(), array.most);
  const Symbol end = builder_.rule("items");
  if (places > 0 && places >= array.least) add(end, {});
  const uint64_t least = std::max<uint64_t>(1, less(array.least, places));
  const uint64_t most = less(array.most, places);
  if (most > 0 && array.rest != kNoGoal) {
    const Symbol others = builder_.repeated(value(array.rest), comma_, least, most);
    if (places == 0) add(end, {others});
    if (places > 0) add(end, {comma_, others});
  }
  Symbol behind = end;
  for (uint64_t place = places; place-- > 0;) {
    const Symbol rule = builder_.rule("items");
    const Symbol item = value(array.prefix[place]);
    if (place > 0 && place >= array.least) add(rule, {});
    if (place == 0) add(rule, {item, behind});
    if (place > 0) add(rule, {comma_, item, behind});
    behind = rule;
  }
  return behind;
}

// Writes a whole array in which the items that satisfy some goals are counted. A state has the
// number of items, and for each rule the number of items that satisfy its goal. A number is counted
// only as far as it matters.
Symbol SchemaWriter::counted_items(GoalId goal, const ArrayCase& array) {
  if (array.contains.size() > kMaxContains) {
    document_.refuse(reader_.origin(goal), "contains",
                     "applies too often to one array: combine its conditions");
  }
  const Symbol whole = builder_.rule("array");
  States states;
  std::vector<State> todo;
  State first(1 + array.contains.size());
  const bool none_needed =
      std::ranges::all_of(array.contains, [](const ContainsRule& rule) { return rule.least == 0; });
  if (array.least == 0 && none_needed) add(whole, {empty_array_});
  add(whole, {open_array_, state(states, todo, first), close_array_});
  while (!todo.empty()) {
    const State from = todo.back();
    todo.pop_back();
    bool may_end = from[0] > 0 && from[0] >= array.least;
    for (size_t i = 0; i < array.contains.size(); ++i) {
      may_end = may_end && from[1 + i] >= array.contains[i].least;
    }
    if (may_end) add(states.at(from), {});
    if (from[0] == array.most) continue;
    for (uint32_t matched = 0; matched < (uint32_t{1} << array.contains.size()); ++matched) {
      counted_step(goal, array, from, matched, states, todo);
    }
  }
  return whole;
}

// Adds one more item, which satisfies the rules whose bit is set. Other rules matter only if they
// have an upper bound: then the item must not satisfy them.
void SchemaWriter::counted_step(GoalId goal, const ArrayCase& array, const State& from,
                                uint32_t matched, States& states, std::vector<State>& todo) {
  State to = from;
  GoalId item = item_goal(array, from[0]);
  for (size_t i = 0; i < array.contains.size(); ++i) {
    const ContainsRule& rule = array.contains[i];
    const bool bounded = rule.most != kUnbounded;
    if (matched >> i & 1) {
      if (from[0] < rule.from) return;
      if (bounded ? from[1 + i] == rule.most : from[1 + i] == rule.least) return;
      ++to[1 + i];
      item = goals_.both(item, rule.goal);
    } else if (bounded && from[0] >= rule.from) {
      item = goals_.both(item, goals_.negation(rule.goal, &reader_.origin(goal)));
    }
  }
  if (item == kNoGoal) return;
  uint64_t places = std::max<uint64_t>(array.prefix.size(), array.least);
  for (const ContainsRule& rule : array.contains) places = std::max(places, rule.from);
  to[0] =
      array.most != kUnbounded ? from[0] + 1 : std::min(from[0] + 1, std::max<uint64_t>(1, places));
  const Symbol next = state(states, todo, to);
  if (from[0] == 0) add(states.at(from), {value(item), next});
  if (from[0] > 0) add(states.at(from), {comma_, value(item), next});
}

// Returns the scalars that a goal allows, if they are few: of each a key for comparing, and how it
// is written.
std::optional<std::vector<SchemaWriter::Scalar>> SchemaWriter::few_scalars(GoalId goal) {
  RegexSet& set = texts_.set();
  std::vector<Scalar> all;
  for (const ValueCase& value : reader_.cases(goal)) {
    if (value.types & kContainers) return std::nullopt;
    if (value.types & kNullBit) all.push_back({"null", set.literal("null")});
    if (value.types & kTrueBit) all.push_back({"true", set.literal("true")});
    if (value.types & kFalseBit) all.push_back({"false", set.literal("false")});
    const auto strings =
        texts_.few_strings(value.types & kStringBit ? value.strings : set.nothing());
    const auto numbers =
        texts_.few_numbers(value.types & kNumberBit ? value.numbers : set.nothing());
    if (!strings || !numbers) return std::nullopt;
    for (const std::string& text : *strings) {
      all.push_back({"\"" + text, texts_.quoted(texts_.one(text))});
    }
    for (const std::string& text : *numbers) {
      all.push_back({text, texts_.both(value.numbers, texts_.equal_to(parse_decimal(text)))});
    }
  }
  return all;
}

// Writes a whole array in which no value comes twice and which few scalars may be in. A state has a
// bit for every value that came before.
Symbol SchemaWriter::unique_items(GoalId goal, const ArrayCase& array) {
  auto refuse = [&](std::string_view sentence) {
    document_.refuse(reader_.origin(goal), "uniqueItems", sentence);
  };
  if (!array.contains.empty()) refuse("cannot be combined with \"contains\": leave one out");
  std::vector<std::vector<Scalar>> allowed;  // by place; the last one is for all later places
  std::map<std::string, uint32_t> bits;
  for (size_t place = 0; place <= array.prefix.size() && place < array.most; ++place) {
    auto scalars = few_scalars(item_goal(array, place));
    if (scalars) {
      for (const Scalar& scalar : *scalars) {
        bits.emplace(scalar.value, static_cast<uint32_t>(bits.size()));
      }
    }
    if (!scalars || bits.size() > SchemaTexts::kFew) {
      refuse(
          "is supported only for a small set of values: list them with \"enum\", or leave it out");
    }
    allowed.push_back(std::move(*scalars));
  }
  const Symbol whole = builder_.rule("array");
  if (array.least == 0) add(whole, {empty_array_});
  States states;
  std::vector<State> todo;
  add(whole, {open_array_, state(states, todo, {0}), close_array_});
  while (!todo.empty()) {
    const uint64_t there = todo.back()[0];
    todo.pop_back();
    const auto count = static_cast<uint64_t>(std::popcount(there));
    const Symbol rule = states.at({there});
    if (count > 0 && count >= array.least) add(rule, {});
    if (count == array.most) continue;
    for (const Scalar& scalar : allowed[std::min<uint64_t>(count, allowed.size() - 1)]) {
      const uint64_t bit = uint64_t{1} << bits.at(scalar.value);
      if ((there & bit) != 0) continue;
      const Symbol item = builder_.terminal(scalar.written);
      const Symbol next = state(states, todo, {there | bit});
      if (count == 0) add(rule, {item, next});
      if (count > 0) add(rule, {comma_, item, next});
    }
  }
  return whole;
}

}  // namespace hearth
