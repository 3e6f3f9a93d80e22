#include "base/json_reader.h"

#include <algorithm>
#include <boost/json/stream_parser.hpp>
#include <cmath>

#include "base/byte_order_mark.h"
#include "base/error.h"

namespace hearth {
namespace {

// The parser has limited the depth of this recursion.
bool all_finite(const boost::json::value& value) {
  switch (value.kind()) {
    case boost::json::kind::double_:
      return std::isfinite(value.get_double());
    case boost::json::kind::array:
      return std::ranges::all_of(value.get_array(), all_finite);
    case boost::json::kind::object:
      return std::ranges::all_of(value.get_object(),
                                 [](const auto& member) { return all_finite(member.value()); });
    default:
      return true;
  }
}

}  // namespace

boost::json::value read_json(std::string_view text, uint32_t depth) {
  boost::json::parse_options options;
  options.max_depth = depth;
  boost::json::stream_parser parser({}, options);
  boost::json::error_code error;
  const std::string_view json = without_byte_order_mark(text);
  size_t read = parser.write_some(json.data(), json.size(), error);
  if (!error && read < json.size()) error = boost::json::error::extra_data;
  read += text.size() - json.size();
  if (!error) parser.finish(error);
  if (error == boost::json::error::too_deep) {
    fail(ErrorCode::kRequest, "the JSON is nested deeper than {} levels at byte {}", depth, read);
  }
  if (error == boost::json::error::incomplete) {
    fail(ErrorCode::kRequest, "the JSON is incomplete: it ends at byte {}", text.size());
  }
  if (error)
    fail(ErrorCode::kRequest, "this is not valid JSON: {} at byte {}", error.message(), read);
  boost::json::value value = parser.release();
  if (!all_finite(value)) {
    fail(ErrorCode::kRequest, "the JSON has a number beyond the range of a double");
  }
  return value;
}

}  // namespace hearth
