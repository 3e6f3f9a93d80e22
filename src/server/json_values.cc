#include "server/json_values.h"
#include "base/error.h"
#include "base/json_reader.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <string_view>

namespace hearth {
namespace {

std::string_view view_of(const boost::json::string& text) { return {text.data(), text.size()}; }

}  // namespace

void write_value(Json& json, const boost::json::value& value) {
  switch (value.kind()) {
    case boost::json::kind::null:
      json.null();
      break;
    case boost::json::kind::bool_:
      json.boolean(value.get_bool());
      break;
    case boost::json::kind::int64:
      json.integer(value.get_int64());
      break;
    case boost::json::kind::uint64:
      json.number(value.get_uint64());
      break;
    case boost::json::kind::double_:
      json.real(value.get_double());
      break;
    case boost::json::kind::string:
      json.text(view_of(value.get_string()));
      break;
    case boost::json::kind::array:
      json.array();
      for (const boost::json::value& entry : value.get_array()) write_value(json, entry);
      json.end_array();
      break;
    case boost::json::kind::object:
      json.object();
      for (const auto& member : value.get_object()) {
        json.key({member.key().data(), member.key().size()});
        write_value(json, member.value());
      }
      json.end_object();
      break;
  }
}

void write_arguments(Json& json, const std::string& arguments) {
  boost::json::value read;
  try {
    read = read_json(arguments);
  } catch (const Error&) {
  }
  if (!read.is_object()) read = boost::json::object();
  write_value(json, read);
}

std::string value_text(const boost::json::value& value) {
  Json json;
  write_value(json, value);
  return json.take();
}

}  // namespace hearth
