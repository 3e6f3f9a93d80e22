#include "server/body_members.h"

#include <boost/json/array.hpp>
#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/value.hpp>
#include <cmath>
#include <string>
#include <utility>

#include "base/byte_order_mark.h"
#include "server/json_fields.h"

namespace hearth {
namespace {

namespace json = boost::json;

// MemberReader: the handler that Boost.JSON's parser calls for what it reads; that library fixes
// the names.
class MemberReader {
 public:
  // NOLINTBEGIN(readability-identifier-naming)
  static constexpr size_t max_object_size = SIZE_MAX, max_array_size = SIZE_MAX;
  static constexpr size_t max_key_size = SIZE_MAX, max_string_size = SIZE_MAX;
  // NOLINTEND(readability-identifier-naming)
  using Code = json::error_code;
  using Text = json::string_view;

  // Whether the body is an object and all its numbers are finite, as read_json() requires.
  bool good() const { return object_ && finite_; }
  json::object take() { return std::move(members_); }

  bool on_document_begin(Code&) { return true; }
  bool on_document_end(Code&) { return true; }
  bool on_object_begin(Code&) {
    if (depth_ == 0) object_ = true;
    return open(json::object());
  }
  bool on_object_end(size_t, Code&) { return close(); }
  bool on_array_begin(Code&) { return open(json::array()); }
  bool on_array_end(size_t, Code&) { return close(); }
  bool on_key_part(Text part, size_t, Code&) { return add(part); }
  bool on_key(Text part, size_t, Code&) {
    add(part);
    if (depth_ == 1) name_ = std::exchange(text_, {});
    return true;
  }
  bool on_string_part(Text part, size_t, Code&) { return add(part); }
  bool on_string(Text part, size_t, Code&) {
    add(part);
    put(json::string(std::exchange(text_, {})));
    return true;
  }
  bool on_number_part(Text, Code&) { return true; }
  bool on_int64(int64_t number, Text, Code&) { return put(number); }
  bool on_uint64(uint64_t number, Text, Code&) { return put(number); }
  bool on_double(double number, Text, Code&) {
    finite_ = finite_ && std::isfinite(number);
    return put(number);
  }
  bool on_bool(bool flag, Code&) { return put(flag); }
  bool on_null(Code&) { return put(nullptr); }
  bool on_comment_part(Text, Code&) { return true; }
  bool on_comment(Text, Code&) { return true; }

 private:
  // Adds to the text under way. Only names of the body's members and their own strings are kept:
  // deeper text is dropped.
  bool add(Text part) {
    if (depth_ == 1) text_.append(part.data(), part.size());
    return true;
  }
  bool put(json::value value) {
    if (depth_ == 1) members_[name_] = std::move(value);
    if (depth_ == 2) fill();
    return true;
  }
  bool open(json::value empty) {
    put(std::move(empty));
    ++depth_;
    return true;
  }
  bool close() {
    --depth_;
    return true;
  }
  // Called for each value inside the array or object under way: gives an array its one null.
  void fill() {
    json::value& member = members_[name_];
    if (member.is_array() && member.get_array().empty()) member.get_array().push_back(nullptr);
  }

  json::object members_;
  std::string name_, text_;
  uint32_t depth_ = 0;
  bool object_ = false, finite_ = true;
};

}  // namespace

json::object read_members(std::string_view body, uint32_t depth) {
  json::parse_options options;
  options.max_depth = depth;
  json::basic_parser<MemberReader> parser(options);
  json::error_code error;
  const std::string_view text = without_byte_order_mark(body);
  const size_t read = parser.write_some(false, text.data(), text.size(), error);
  const bool good = !error && read == text.size() && parser.handler().good();
  // Only read_object() has sentences for errors, so it reads a faulty body once more, and throws.
  return good ? parser.handler().take() : read_object(body, depth);
}

}  // namespace hearth
