#include "server/output_fields.h"

#include <fmt/format.h>

#include <boost/json/serialize.hpp>

#include "server/json_fields.h"

namespace hearth {
namespace {

using boost::json::value;

constexpr size_t kMaxChoices = 10'000;

void set_shape(OutputKind kind, const std::string& name, std::string text, OutputShape* shape) {
  if (shape->kind != OutputKind::kFree) {
    throw RequestError(
        kInvalidValue, name,
        fmt::format("cannot be combined with {}; leave one of them out", shape->name));
  }
  shape->kind = kind;
  shape->name = name;
  shape->text = std::move(text);
}

// Reads {"type": "json_schema", "json_schema": {"schema": ...}}, or with `schema` directly beside
// `type`.
void read_schema_format(const boost::json::object& format, const std::string& name,
                        OutputShape* shape) {
  if (const value* schema = find_field(format, "schema")) {
    return read_schema_field(*schema, name + ".schema", shape);
  }
  const std::string inner = name + ".json_schema";
  const boost::json::object& named =
      object_field(require_field(format, "json_schema", inner), inner);
  const std::string at = inner + ".schema";
  read_schema_field(require_field(named, "schema", at), at, shape);
}

}  // namespace

void read_response_format(const value& field, const std::string& name, OutputShape* shape) {
  const boost::json::object& format = object_field(field, name);
  const std::string param = name + ".type";
  const std::string type = text_field(require_field(format, "type", param), param);
  if (type == "text") return;
  if (type == "json_schema" || (type == "json_object" && find_field(format, "schema"))) {
    return read_schema_format(format, name, shape);
  }
  if (type == "json_object") return set_shape(OutputKind::kJsonObject, name, "", shape);
  refuse_unsupported(param, "give it text, json_object or json_schema");
}

void read_schema_field(const value& field, const std::string& name, OutputShape* shape) {
  if (field.is_string()) {
    return set_shape(OutputKind::kJsonSchema, name, text_field(field, name), shape);
  }
  if (!field.is_bool()) object_field(field, name);
  set_shape(OutputKind::kJsonSchema, name, boost::json::serialize(field), shape);
}

void read_regex_field(const value& field, const std::string& name, OutputShape* shape) {
  set_shape(OutputKind::kRegex, name, text_field(field, name), shape);
}

void read_grammar_field(const value& field, const std::string& name, OutputShape* shape) {
  std::string text = text_field(field, name);
  if (!text.empty()) set_shape(OutputKind::kGbnf, name, std::move(text), shape);
}

void read_choice_field(const value& field, const std::string& name, OutputShape* shape) {
  const boost::json::array& choices = array_field(field, name, 1, kMaxChoices);
  set_shape(OutputKind::kChoice, name, "", shape);
  for (size_t i = 0; i < choices.size(); ++i) {
    shape->choices.push_back(text_field(choices[i], entry_name(name, i)));
  }
}

void read_structured_outputs(const value& field, const std::string& name, OutputShape* shape) {
  const boost::json::object& asked = object_field(field, name);
  auto read = [&](const char* key, auto reader) {
    if (const value* given = find_field(asked, key)) {
      reader(*given, fmt::format("{}.{}", name, key), shape);
    }
  };
  read("json", read_schema_field);
  read("regex", read_regex_field);
  read("choice", read_choice_field);
  read("grammar", read_grammar_field);
  read("json_object", [](const value& given, const std::string& at, OutputShape* to) {
    if (bool_field(given, at)) set_shape(OutputKind::kJsonObject, at, "", to);
  });
  read("structural_tag", [](const value&, const std::string& at, OutputShape*) {
    refuse_unsupported(at, "give json, regex, choice or grammar");
  });
}

}  // namespace hearth
