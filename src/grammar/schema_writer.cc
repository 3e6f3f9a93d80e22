#include "grammar/schema_writer.h"

namespace hearth {
namespace {

constexpr uint64_t kMaxBlanks = 32;

}  // namespace

SchemaWriter::SchemaWriter(GrammarBuilder& builder, SchemaDocument& document, SchemaTexts& texts,
                           GoalTable& goals, SchemaAlgebra& algebra, SchemaReader& reader,
                           SchemaBudget& budget)
    : builder_(builder),
      texts_(texts),
      goals_(goals),
      reader_(reader),
      document_(document),
      algebra_(algebra),
      budget_(budget) {
  RegexSet& set = texts_.set();
  const RegexId blank = set.literal(" ");
  const RegexId line[] = {set.literal("\n"), set.repeat(blank, 0, kMaxBlanks)};
  const RegexId spaces[] = {set.empty(), blank, set.concat(line)};
  space_ = set.any_of(spaces);
  auto terminal = [&](RegexId before, std::string_view mark, RegexId behind) {
    return builder_.terminal(with_space(before, mark, behind));
  };
  auto pair = [&](char open, char close) {
    const RegexId parts[] = {set.literal({&open, 1}), space_, set.literal({&close, 1})};
    return builder_.terminal(set.concat(parts));
  };
  comma_ = terminal(space_, ",", space_);
  open_object_ = terminal(set.empty(), "{", space_);
  close_object_ = terminal(space_, "}", set.empty());
  empty_object_ = pair('{', '}');
  open_array_ = terminal(set.empty(), "[", space_);
  close_array_ = terminal(space_, "]", set.empty());
  empty_array_ = pair('[', ']');
}

RegexId SchemaWriter::with_space(RegexId before, std::string_view mark, RegexId behind) {
  const RegexId parts[] = {before, texts_.set().literal(mark), behind};
  return texts_.set().concat(parts);
}

void SchemaWriter::add(Symbol rule, std::initializer_list<Symbol> symbols) {
  budget_.spend();
  builder_.add(rule, std::span<const Symbol>(symbols.begin(), symbols.size()));
}

// Returns the rule of a state; a new one is appended to `todo`.
Symbol SchemaWriter::state(States& states, std::vector<State>& todo, const State& key) {
  auto [at, added] = states.emplace(key, Symbol{});
  if (added) {
    budget_.spend();
    at->second = builder_.rule("state");
    todo.push_back(key);
  }
  return at->second;
}

Symbol SchemaWriter::write(GoalId goal) {
  const Symbol start = value(goal);
  write_waiting();
  return start;
}

Symbol SchemaWriter::write_types(GoalId goal, TypeBits types) {
  const Symbol rule = builder_.rule("value");
  write_cases(rule, goal, types);
  write_waiting();
  return rule;
}

void SchemaWriter::write_waiting() {
  while (!todo_.empty()) {
    const GoalId next = todo_.back();
    todo_.pop_back();
    write_cases(rules_.at(next), next, kAllTypes);
  }
}

Symbol SchemaWriter::value(GoalId goal) {
  auto [at, added] = rules_.emplace(goal, Symbol{});
  if (added) {
    at->second = builder_.rule("value");
    todo_.push_back(goal);
  }
  return at->second;
}

Symbol SchemaWriter::scalars(const ValueCase& value) {
  RegexSet& set = texts_.set();
  std::vector<RegexId> all;
  if (value.types & kNullBit) all.push_back(set.literal("null"));
  if (value.types & kTrueBit) all.push_back(set.literal("true"));
  if (value.types & kFalseBit) all.push_back(set.literal("false"));
  if (value.types & kNumberBit) all.push_back(value.numbers);
  if (value.types & kStringBit) all.push_back(texts_.quoted(value.strings));
  return builder_.terminal(set.any_of(all));
}

void SchemaWriter::write_cases(Symbol rule, GoalId goal, TypeBits types) {
  ValueCases cases = reader_.cases(goal);
  for (ValueCase& one : cases) {
    one.types &= types;
    if (one.types & ~kContainers) add(rule, {scalars(one)});
    if (one.types & kArrayBit) write_array(rule, goal, one.array);
    if (one.types & kObjectBit) write_object(rule, one.object);
  }
}

}  // namespace hearth
