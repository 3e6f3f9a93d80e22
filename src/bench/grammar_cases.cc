#include "bench/grammar_cases.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/json.h"
#include "base/json_reader.h"

namespace hearth {
namespace {

namespace json = boost::json;

constexpr uint32_t kCaseDepth = 128;  // JSON nesting of a line, some levels of it around documents

void write_value(Json& out, const json::value& value) {
  switch (value.kind()) {
    case json::kind::object:
      out.object();
      for (const auto& member : value.get_object()) {
        out.key(member.key());
        write_value(out, member.value());
      }
      out.end_object();
      return;
    case json::kind::array:
      out.array();
      for (const json::value& item : value.get_array()) write_value(out, item);
      out.end_array();
      return;
    case json::kind::string:
      out.text(value.get_string());
      return;
    case json::kind::bool_:
      out.boolean(value.get_bool());
      return;
    case json::kind::int64:
      out.integer(value.get_int64());
      return;
    case json::kind::uint64:
      out.number(value.get_uint64());
      return;
    case json::kind::double_:
      out.real(value.get_double());
      return;
    default:
      out.null();
  }
}

std::string text_of(const json::value& value) {
  Json out;
  write_value(out, value);
  return out.take();
}

GrammarCase read_case(std::string_view line) {
  const json::value read = read_json(line, kCaseDepth);
  const json::object* object = read.if_object();
  const json::value* schema = object == nullptr ? nullptr : object->if_contains("schema");
  if (schema == nullptr) fail(ErrorCode::kFile, "has no \"schema\"");
  GrammarCase out;
  out.schema = schema->is_string() ? std::string(schema->get_string()) : text_of(*schema);
  const json::value* id = object->if_contains("id");
  if (id != nullptr && id->is_string()) out.id = id->get_string();
  const json::value* tests = object->if_contains("tests");
  if (tests == nullptr || !tests->is_array()) return out;
  for (const json::value& test : tests->get_array()) {
    const json::object* fields = test.if_object();
    const json::value* data = fields == nullptr ? nullptr : fields->if_contains("data");
    const json::value* valid = fields == nullptr ? nullptr : fields->if_contains("valid");
    if (data == nullptr || valid == nullptr || !valid->is_bool()) {
      fail(ErrorCode::kFile, "has a test without \"data\" and \"valid\"");
    }
    out.documents.push_back({text_of(*data), valid->get_bool()});
  }
  return out;
}

}  // namespace

std::vector<GrammarCase> read_grammar_cases(std::string_view lines, std::string_view path) {
  std::vector<GrammarCase> cases;
  for (size_t number = 1; !lines.empty(); ++number) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(std::min(line.size() + 1, lines.size()));
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    try {
      cases.push_back(read_case(line));
    } catch (const Error& error) {
      fail(ErrorCode::kFile, "{}: line {}: {}", path, number, error.what());
    }
    if (cases.back().id.empty()) cases.back().id = fmt::format("line {}", number);
  }
  return cases;
}

}  // namespace hearth
