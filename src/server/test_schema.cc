#include "server/test_schema.h"

#include <fmt/format.h>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <regex>
#include <set>

namespace hearth {
namespace {

namespace json = boost::json;

std::string text_of(const json::value& value) {
  return {value.get_string().data(), value.get_string().size()};
}

bool is_type(const json::value& value, const std::string& type) {
  if (type == "null") return value.is_null();
  if (type == "boolean") return value.is_bool();
  if (type == "string") return value.is_string();
  if (type == "array") return value.is_array();
  if (type == "object") return value.is_object();
  if (type == "integer") return value.is_int64() || value.is_uint64();
  return value.is_number();
}

bool has_type(const json::value& value, const json::value& types) {
  if (types.is_string()) return is_type(value, text_of(types));
  return std::ranges::any_of(
      types.get_array(), [&](const json::value& type) { return is_type(value, text_of(type)); });
}

class Checker {
 public:
  explicit Checker(const json::value& document) : document_(document) {}

  std::string check(const json::object& schema, const json::value& value, const std::string& at) {
    for (const auto& [key, rule] : schema) {
      std::string error = check_word(std::string(key), rule, schema, value, at);
      if (!error.empty()) return error;
    }
    return "";
  }

 private:
  std::string check_word(const std::string& word, const json::value& rule,
                         const json::object& schema, const json::value& value,
                         const std::string& at) {
    if (word == "description" || word == "format") return "";
    if (word == "$ref") {
      return check(document_.at_pointer(text_of(rule).substr(1)).as_object(), value, at);
    }
    if (word == "anyOf") return any(rule.get_array(), value, at);
    if (word == "allOf") return all(rule.get_array(), value, at);
    if (word == "type") return must(has_type(value, rule), at, "is of another type");
    if (word == "const") return must(value == rule, at, "is another constant");
    if (word == "enum") {
      return must(std::ranges::find(rule.get_array(), value) != rule.get_array().end(), at,
                  "is none of the values");
    }
    if (word == "minimum" || word == "maximum") return bound(word, rule, value, at);
    if (word == "minLength" || word == "maxLength") {
      return value.is_string() ? count(word, rule, value.get_string().size(), at) : "";
    }
    if (word == "pattern") {
      return value.is_string() ? must(std::regex_search(text_of(value), std::regex(text_of(rule))),
                                      at, "is not of the pattern")
                               : "";
    }
    if (word == "minItems" || word == "maxItems") {
      return value.is_array() ? count(word, rule, value.get_array().size(), at) : "";
    }
    if (word == "maxProperties") {
      return value.is_object() ? count(word, rule, value.get_object().size(), at) : "";
    }
    if (word == "items") return value.is_array() ? items(rule, value.get_array(), at) : "";
    // Only the names of biases have this keyword, and the tests of their reader check them.
    if (word == "propertyNames") return "";
    if (!value.is_object()) return "";
    return check_object(word, rule, schema, value.get_object(), at);
  }

  std::string check_object(const std::string& word, const json::value& rule,
                           const json::object& schema, const json::object& object,
                           const std::string& at) {
    if (word == "required") {
      for (const json::value& name : rule.get_array()) {
        if (!object.contains(text_of(name))) return at + ": " + text_of(name) + " is missing";
      }
      return "";
    }
    if (word == "properties") {
      for (const auto& [name, own] : rule.get_object()) {
        const json::value* member = object.if_contains(name);
        if (member == nullptr) continue;
        std::string error = check(own.get_object(), *member, at + "/" + std::string(name));
        if (!error.empty()) return error;
      }
      return "";
    }
    if (word == "additionalProperties") return additional(rule, schema, object, at);
    return at + ": the checker does not know " + word;
  }

  std::string additional(const json::value& rule, const json::object& schema,
                         const json::object& object, const std::string& at) {
    const json::value* own = schema.if_contains("properties");
    std::set<std::string> seen;
    for (const auto& [name, member] : object) {
      if (!seen.insert(std::string(name)).second) return at + ": a name stands twice";
      if (own != nullptr && own->get_object().contains(name)) continue;
      if (rule.is_bool() && !rule.get_bool()) return at + ": " + std::string(name) + " is too much";
      if (!rule.is_object()) continue;
      std::string error = check(rule.get_object(), member, at + "/" + std::string(name));
      if (!error.empty()) return error;
    }
    return "";
  }

  std::string items(const json::value& rule, const json::array& array, const std::string& at) {
    for (size_t i = 0; i < array.size(); ++i) {
      std::string error = check(rule.get_object(), array[i], fmt::format("{}/{}", at, i));
      if (!error.empty()) return error;
    }
    return "";
  }

  std::string any(const json::array& schemas, const json::value& value, const std::string& at) {
    std::string errors;
    for (const json::value& schema : schemas) {
      std::string error = check(schema.get_object(), value, at);
      if (error.empty()) return "";
      errors += "[" + error + "]";
    }
    return at + " fits none: " + errors;
  }

  std::string all(const json::array& schemas, const json::value& value, const std::string& at) {
    for (const json::value& schema : schemas) {
      std::string error = check(schema.get_object(), value, at);
      if (!error.empty()) return error;
    }
    return "";
  }

  static std::string bound(const std::string& word, const json::value& rule,
                           const json::value& value, const std::string& at) {
    if (!value.is_number()) return "";
    double number = value.to_number<double>(), most = rule.to_number<double>();
    return must(word == "minimum" ? number >= most : number <= most, at, "is beyond " + word);
  }

  static std::string count(const std::string& word, const json::value& rule, size_t size,
                           const std::string& at) {
    auto most = rule.to_number<size_t>();
    return must(word.starts_with("min") ? size >= most : size <= most, at, "is beyond " + word);
  }

  static std::string must(bool good, const std::string& at, const std::string& wrong) {
    return good ? "" : at + ": " + wrong;
  }

  const json::value& document_;
};

}  // namespace

std::string schema_error(const json::value& document, std::string_view name,
                         const json::value& value) {
  const json::value& schema = document.at("components").at("schemas").at(name);
  return Checker(document).check(schema.as_object(), value, "");
}

}  // namespace hearth
