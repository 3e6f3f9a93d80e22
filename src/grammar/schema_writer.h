// SchemaWriter writes a grammar's rules for goals (grammar/schema_goal.h): a rule for each goal,
// terminals for scalars, names and punctuation.
//
// Objects have their properties in the order of the schema, then additional ones. White space,
// where JSON allows it, is nothing, a blank, or a newline and up to 32 blanks.
//
// Subclasses write scalars and properties that are not JSON (grammar/schema_arguments.h).
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "grammar/grammar_builder.h"
#include "grammar/schema_reader.h"

namespace hearth {

class SchemaWriter {
 public:
  SchemaWriter(GrammarBuilder& builder, SchemaDocument& document, SchemaTexts& texts,
               GoalTable& goals, SchemaAlgebra& algebra, SchemaReader& reader,
               SchemaBudget& budget);
  virtual ~SchemaWriter() = default;
  SchemaWriter(const SchemaWriter&) = delete;
  SchemaWriter& operator=(const SchemaWriter&) = delete;

  // Returns the rule of a goal, and writes it with all rules that it needs.
  Symbol write(GoalId goal);
  // Writes the values of the goal that have one of these types.
  Symbol write_types(GoalId goal, TypeBits types);
  // Writes the members, without braces, of objects that satisfy the goal.
  Symbol write_members(GoalId goal);

 protected:
  Symbol value(GoalId goal);
  void add(Symbol rule, std::initializer_list<Symbol> symbols);
  virtual Symbol scalars(const ValueCase& value);
  // Writes "name": value, where any name may stand that `names` matches.
  virtual Symbol pair(RegexId names, GoalId goal);
  RegexId with_space(RegexId before, std::string_view mark, RegexId behind);
  void write_waiting();

  GrammarBuilder& builder_;
  SchemaTexts& texts_;
  GoalTable& goals_;
  SchemaReader& reader_;
  RegexId space_;
  Symbol comma_;
  bool outermost_ = false;  // the properties are those of write_members()

 private:
  using Symbols = std::vector<Symbol>;
  // The rules for the states of a counting, each of which is made when its state is first met.
  using State = std::vector<uint64_t>;
  using States = std::map<State, Symbol>;

  Symbol state(States& states, std::vector<State>& todo, const State& key);
  void write_cases(Symbol rule, GoalId goal, TypeBits types);

  // schema_arrays.cc: rules for arrays.
  void write_array(Symbol rule, GoalId goal, ArrayCase array);
  Symbol plain_items(const ArrayCase& array);
  Symbol counted_items(GoalId goal, const ArrayCase& array);
  void counted_step(GoalId goal, const ArrayCase& array, const State& from, uint32_t matched,
                    States& states, std::vector<State>& todo);
  struct Scalar {
    std::string value;  // equal scalars have equal texts
    RegexId written;
  };
  std::optional<std::vector<Scalar>> few_scalars(GoalId goal);
  Symbol unique_items(GoalId goal, const ArrayCase& array);

  // schema_objects.cc: rules for objects.
  void write_object(Symbol rule, const ObjectCase& object);
  ObjectCase with_few_named(ObjectCase object);
  void resolve_witnesses(const ObjectCase& object, size_t next, std::vector<ObjectCase>& out);
  Symbol members(const ObjectCase& object);
  void end_members(Symbol rule, const ObjectCase& object, uint64_t count);
  Symbol additional(const ObjectCase& object);
  struct LooseProperty {
    Symbols rules;  // alternatives, each of which writes the property
    bool required;
  };
  std::vector<LooseProperty> loose_properties(const ObjectCase& object);
  Symbol loose_members(const ObjectCase& object, uint64_t count);

  SchemaDocument& document_;
  SchemaAlgebra& algebra_;
  SchemaBudget& budget_;
  Symbol open_object_, close_object_, empty_object_, open_array_, close_array_, empty_array_;
  std::unordered_map<GoalId, Symbol> rules_;
  std::vector<GoalId> todo_;
};

}  // namespace hearth
