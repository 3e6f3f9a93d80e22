// SchemaReader's keywords that restrict values of one type.
#include <fmt/format.h>

#include <algorithm>

#include "grammar/format_patterns.h"
#include "grammar/schema_reader.h"

namespace hearth {
namespace {

namespace json = boost::json;

}  // namespace

ValueCases SchemaReader::assertions(const Scope& scope) {
  ValueCase value = algebra_.anything();
  for (const Member& member : scope.object) {
    attempt([&] { assert_one(scope, member, value); });
  }
  attempt([&] { read_array(scope, value); });
  attempt([&] { read_object(scope, value); });
  ValueCases cases = algebra_.both(ValueCases{value}, ValueCases{algebra_.anything()});
  for (std::string_view keyword : {"enum", "const"}) {
    const auto member = scope.object.find(keyword);
    if (member == scope.object.end()) continue;
    attempt([&] { cases = joined(cases, enumerated(scope, *member)); });
  }
  return cases;
}

void SchemaReader::assert_one(const Scope& scope, const Member& member, ValueCase& value) {
  if (member.key() == "type") {
    value.types &= types_of(scope, member.value(), value);
  } else if (!assert_number(scope, member, value)) {
    assert_string(scope, member, value);
  }
}

// Returns the types that "type" names; where only integers are among them, numbers of `value`
// become integers.
TypeBits SchemaReader::types_of(const Scope& scope, const Value& type, ValueCase& value) {
  static constexpr struct {
    std::string_view name;
    TypeBits bits;
  } kTypes[] = {{"null", kNullBit},     {"boolean", kFalseBit | kTrueBit},
                {"number", kNumberBit}, {"string", kStringBit},
                {"array", kArrayBit},   {"object", kObjectBit}};
  TypeBits types = 0;
  bool integers = false;
  auto add = [&](const Value& name) {
    const json::string* text = name.if_string();
    if (text != nullptr && *text == "integer") {
      integers = true;
      return;
    }
    for (const auto& row : kTypes) {
      if (text == nullptr || std::string_view(*text) != row.name) continue;
      types |= row.bits;
      return;
    }
    refuse(scope, "type",
           "must be null, boolean, integer, number, string, array or object, or a list of these");
  };
  if (const json::array* list = type.if_array()) {
    for (const Value& name : *list) add(name);
  } else {
    add(type);
  }
  if (integers && (types & kNumberBit) == 0) {
    types |= kNumberBit;
    const bool with_point = document_.draft() != SchemaDraft::k4;
    value.numbers = texts_.both(value.numbers, texts_.integer(with_point));
  }
  return types;
}

ValueCases SchemaReader::enumerated(const Scope& scope, const Member& member) {
  if (member.key() == "const") return equal_cases(member.value());
  const json::array* values = member.value().if_array();
  if (values == nullptr) refuse(scope, "enum", "must be a list of values");
  ValueCases cases;
  ValueCase strings = algebra_.only(kStringBit);
  std::vector<std::string_view> texts;
  for (const Value& value : *values) {
    budget_.spend();
    if (const json::string* text = value.if_string()) {
      texts.push_back(*text);
    } else {
      std::ranges::move(equal_cases(value), std::back_inserter(cases));
    }
  }
  if (!texts.empty()) {
    strings.strings = texts_.one_of(texts);
    cases.push_back(strings);
  }
  return algebra_.either(std::move(cases), {});
}

uint64_t SchemaReader::count(const Scope& scope, const Member& member) const {
  const std::optional<uint64_t> count = count_of(member.value());
  if (!count) refuse(scope, member.key(), "must be a whole number of at least 0");
  return *count;
}

// Reads minimum and the like. In draft 4 a second keyword excludes the bound itself.
void SchemaReader::assert_bound(const Scope& scope, const Member& member, bool upper,
                                ValueCase& value) {
  const bool exclusive_name = member.key().starts_with("exclusive");
  if (exclusive_name && member.value().is_bool()) return;
  const std::optional<Decimal> bound = decimal_of(member.value());
  if (!bound) refuse(scope, member.key(), "must be a number");
  const Value* flag =
      exclusive_name ? nullptr : scope.find(upper ? "exclusiveMaximum" : "exclusiveMinimum");
  const bool excluded = exclusive_name || (flag != nullptr && flag->is_bool() && flag->get_bool());
  const RegexId numbers = upper ? texts_.below(*bound, !excluded) : texts_.above(*bound, !excluded);
  value.numbers = texts_.both(value.numbers, numbers);
}

bool SchemaReader::assert_number(const Scope& scope, const Member& member, ValueCase& value) {
  const std::string_view keyword = member.key();
  if (keyword == "minimum" || keyword == "exclusiveMinimum") {
    assert_bound(scope, member, false, value);
  } else if (keyword == "maximum" || keyword == "exclusiveMaximum") {
    assert_bound(scope, member, true, value);
  } else if (keyword == "multipleOf" || keyword == "divisibleBy") {
    const std::optional<Decimal> divisor = decimal_of(member.value());
    if (!divisor || divisor->negative || divisor->is_zero()) {
      refuse(scope, keyword, "must be a number above 0");
    }
    const std::optional<RegexId> multiples = texts_.multiple_of(*divisor);
    if (!multiples) refuse(scope, keyword, "has too many digits: give at most 9");
    value.numbers = texts_.both(value.numbers, *multiples);
  } else {
    return false;
  }
  return true;
}

bool SchemaReader::assert_string(const Scope& scope, const Member& member, ValueCase& value) {
  const std::string_view keyword = member.key();
  auto hold = [&](RegexId strings) { value.strings = texts_.both(value.strings, strings); };
  if (keyword == "minLength") {
    hold(texts_.lengths(count(scope, member), kUnbounded));
  } else if (keyword == "maxLength") {
    hold(texts_.lengths(0, count(scope, member)));
  } else if (keyword == "pattern") {
    const json::string* text = member.value().if_string();
    if (text == nullptr) refuse(scope, keyword, "must be a string");
    hold(pattern(scope, keyword, *text));
  } else if (keyword == "format") {
    const json::string* name = member.value().if_string();
    if (name == nullptr) refuse(scope, keyword, "must be a string");
    if (std::optional<FormatPatterns> format = find_format(*name)) {
      RegexId some = texts_.nothing();
      for (const std::string& one : format->patterns) {
        some = texts_.either(some, texts_.matching(one));
      }
      for (const std::string& one : format->exceptions) {
        some = texts_.without(some, texts_.matching(one));
      }
      hold(some);
    }
  } else {
    return false;
  }
  return true;
}

RegexId SchemaReader::pattern(const Scope& scope, std::string_view keyword,
                              std::string_view pattern) {
  try {
    return texts_.found(pattern);
  } catch (const SchemaTooComplex&) {
    throw;
  } catch (const Error& error) {
    refuse(scope, keyword, fmt::format("is not supported: {}", error.what()));
  }
}

}  // namespace hearth
