// SchemaReader converts the keywords of a schema to cases (grammar/schema_case.h). Goals are opened
// one by one, so a recursive schema costs as much as its different goals.
//
// Errors: kRequest with path and keyword for what cannot be enforced exactly. A relaxed reader
// notes such a keyword and ignores it for the value.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "grammar/schema_algebra.h"
#include "grammar/schema_document.h"

namespace hearth {

class SchemaReader {
 public:
  SchemaReader(SchemaDocument& document, SchemaTexts& texts, GoalTable& goals,
               SchemaAlgebra& algebra, SchemaBudget& budget, bool relaxed)
      : document_(document),
        texts_(texts),
        goals_(goals),
        algebra_(algebra),
        budget_(budget),
        relaxed_(relaxed) {}

  // Returns the values that satisfy a goal.
  const ValueCases& cases(GoalId goal);
  // Returns the schema where a goal comes from, for errors.
  const boost::json::value& origin(GoalId goal) const;
  // Calls `work`, which throws if a keyword cannot be enforced. A relaxed reader then notes the
  // error and returns false instead.
  template <typename Work>
  bool attempt(Work work);
  // Returns the errors of what was ignored.
  const std::vector<std::string>& dropped() const { return dropped_; }

 private:
  using Value = boost::json::value;
  using Member = boost::json::key_value_pair;
  // A schema that is being read, and whether a keyword around it asks which members it evaluates.
  struct Scope {
    const Value& schema;
    const boost::json::object& object;
    bool tracks;

    const Value* find(std::string_view keyword) const { return object.if_contains(keyword); }
  };

  ValueCases evaluate(const Value& schema, bool tracks);
  ValueCases evaluate_object(const Scope& scope);
  // Returns the result of `work` in which no keyword may be ignored, since that result will be
  // negated.
  template <typename Work>
  auto strictly(Work work);
  ValueCases condition_cases(const Condition& condition);
  ValueCases equal_cases(const Value& value);
  [[noreturn]] void refuse(const Scope& scope, std::string_view keyword,
                           std::string_view sentence) const;
  // Negates for a `keyword` of `schema`, which errors name.
  ValueCases negate(const ValueCases& cases, const Value& schema, std::string_view keyword);
  ValueCases joined(const ValueCases& a, const ValueCases& b);
  bool inhabited(const ValueCase& value, uint32_t depth);
  bool may_hold(GoalId goal, uint32_t depth);

  // schema_assertions.cc: keywords that restrict values of one type.
  ValueCases assertions(const Scope& scope);
  void assert_one(const Scope& scope, const Member& member, ValueCase& value);
  bool assert_number(const Scope& scope, const Member& member, ValueCase& value);
  bool assert_string(const Scope& scope, const Member& member, ValueCase& value);
  void assert_bound(const Scope& scope, const Member& member, bool upper, ValueCase& value);
  TypeBits types_of(const Scope& scope, const Value& type, ValueCase& value);
  ValueCases enumerated(const Scope& scope, const Member& member);
  uint64_t count(const Scope& scope, const Member& member) const;
  RegexId pattern(const Scope& scope, std::string_view keyword, std::string_view pattern);

  // schema_containers.cc: arrays and objects.
  void read_array(const Scope& scope, ValueCase& value);
  void read_contains(const Scope& scope, ValueCase& value);
  void read_object(const Scope& scope, ValueCase& value);
  void read_properties(const Scope& scope, ValueCase& value);
  std::vector<NameClass> read_patterns(const Scope& scope);
  std::vector<NameClass> split_classes(const Scope& scope, const std::vector<NameClass>& patterns);
  void read_required(const Scope& scope, const Member& member, ObjectCase& object);
  std::vector<std::string> names(const Scope& scope, std::string_view keyword,
                                 const Value& list) const;

  // schema_applicators.cc: keywords that apply schemas to the same value.
  ValueCases applied(const Scope& scope, const Member& member);
  ValueCases any_of(const Scope& scope, const Member& member);
  ValueCases one_of(const Scope& scope, const Member& member);
  ValueCases conditional(const Scope& scope);
  ValueCases dependencies(const Scope& scope, const Member& member);
  ValueCases unevaluated(const Scope& scope, const Member& member, ValueCases cases);
  std::vector<ValueCases> branches(const Scope& scope, const Member& member);

  SchemaDocument& document_;
  SchemaTexts& texts_;
  GoalTable& goals_;
  SchemaAlgebra& algebra_;
  SchemaBudget& budget_;
  bool relaxed_;
  uint32_t strict_ = 0;  // calls of strictly() under way
  std::map<std::pair<GoalId, bool>, std::unique_ptr<ValueCases>> cases_;
  std::map<GoalId, bool> holds_;
  std::set<const Value*> open_;  // schemas of one value that are being read
  std::vector<std::string> dropped_;
};

template <typename Work>
auto SchemaReader::strictly(Work work) {
  struct Guard {
    uint32_t& depth;
    ~Guard() { --depth; }
  } const guard{++strict_};
  return work();
}

template <typename Work>
bool SchemaReader::attempt(Work work) {
  try {
    work();
    return true;
  } catch (const SchemaTooComplex&) {
    throw;
  } catch (const Error& error) {
    if (!relaxed_ || strict_ > 0) throw;
    if (std::find(dropped_.begin(), dropped_.end(), error.what()) == dropped_.end()) {
      dropped_.emplace_back(error.what());
    }
    return false;
  }
}

}  // namespace hearth
