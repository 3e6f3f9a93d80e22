#include "chat/call_texts.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <cctype>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/json_reader.h"
#include "chat/marker_atoms.h"
#include "chat/marker_space.h"

namespace hearth {
namespace {

using boost::json::value;

// CallTextReader takes parts off the front of a text.
class CallTextReader {
 public:
  explicit CallTextReader(std::string_view text) : text_(text) {}

  bool at_end() const { return without_space_before(text_).empty(); }

  // Takes a marker, with any white space before and after it.
  bool take(std::string_view marker) {
    size_t at = 0;
    for (char c : marker) {
      if (is_marker_space(c)) continue;
      while (at < text_.size() && is_marker_space(text_[at])) ++at;
      if (at == text_.size() || text_[at] != c) return false;
      ++at;
    }
    text_.remove_prefix(at);
    return true;
  }

  bool take_exactly(std::string_view text) {
    if (!text_.starts_with(text)) return false;
    text_.remove_prefix(text.size());
    return true;
  }

  bool take_id() {
    text_ = without_space_before(text_);
    return take_while([](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.' ||
             c == ':';
    });
  }

  bool take_number_behind_colon() {
    return take_exactly(":") && take_while([](char c) { return c >= '0' && c <= '9'; });
  }

  bool take_json(const value& expected) {
    text_ = without_space_before(text_);
    size_t bytes = json_text_bytes(text_);
    if (bytes == 0) bytes = scalar_bytes();
    if (!is_json_of(text_.substr(0, bytes), expected)) return false;
    text_.remove_prefix(bytes);
    return true;
  }

  // Takes a value, written as JSON or as a Python literal.
  bool take_value(const value& expected) {
    text_ = without_space_before(text_);
    if (take_json(expected)) return true;
    const std::string_view before = text_;
    const std::optional<value> found = read_python();
    if (found && *found == expected) return true;
    text_ = before;
    return false;
  }

 private:
  template <typename Belongs>
  bool take_while(Belongs belongs) {
    const auto end = std::ranges::find_if_not(text_, belongs);
    const auto bytes = static_cast<size_t>(end - text_.begin());
    text_.remove_prefix(bytes);
    return bytes > 0;
  }

  size_t scalar_bytes() const {
    if (text_.starts_with('"')) {
      for (size_t i = 1; i < text_.size(); ++i) {
        if (text_[i] == '\\') {
          ++i;
        } else if (text_[i] == '"') {
          return i + 1;
        }
      }
      return 0;
    }
    const auto end = std::ranges::find_if_not(text_, [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-' || c == '+';
    });
    return static_cast<size_t>(end - text_.begin());
  }

  std::optional<value> read_python(uint32_t depth = 0);
  std::optional<value> read_python_text();
  std::optional<value> read_python_word();

  std::string_view text_;
};

std::optional<value> CallTextReader::read_python_text() {
  const char quote = text_.front();
  std::string read;
  for (size_t i = 1; i < text_.size(); ++i) {
    char c = text_[i];
    if (c == quote) {
      text_.remove_prefix(i + 1);
      return value(read);
    }
    if (c == '\\' && i + 1 < text_.size()) {
      c = text_[++i];
      if (c == 'n') c = '\n';
    }
    read += c;
  }
  return std::nullopt;
}

std::optional<value> CallTextReader::read_python_word() {
  const size_t bytes = scalar_bytes();
  const std::string_view word = text_.substr(0, bytes);
  text_.remove_prefix(bytes);
  if (word == "True" || word == "true") return value(true);
  if (word == "False" || word == "false") return value(false);
  if (word == "None" || word == "null") return value(nullptr);
  try {
    return read_json(word);
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::optional<value> CallTextReader::read_python(uint32_t depth) {
  text_ = without_space_before(text_);
  if (text_.empty() || depth > kJsonDepth) return std::nullopt;
  if (text_.front() == '\'' || text_.front() == '"') return read_python_text();
  if (text_.front() != '[' && text_.front() != '{') return read_python_word();
  const bool list = text_.front() == '[';
  text_.remove_prefix(1);
  boost::json::array items;
  boost::json::object members;
  for (bool first = true; !take(list ? "]" : "}"); first = false) {
    if (!first && !take(",")) return std::nullopt;
    std::optional<value> item = read_python(depth + 1);
    if (!item) return std::nullopt;
    if (list) {
      items.push_back(std::move(*item));
      continue;
    }
    if (!item->is_string() || !take(":")) return std::nullopt;
    std::optional<value> member = read_python(depth + 1);
    if (!member) return std::nullopt;
    members[item->as_string()] = std::move(*member);
  }
  return list ? value(items) : value(members);
}

// Returns a value as Gemma 4's template writes it.
std::string dictionary_text(const value& item, std::string_view quote) {
  std::string text;
  if (item.is_string()) return fmt::format("{}{}{}", quote, item.as_string().c_str(), quote);
  if (item.is_array()) {
    for (const value& each : item.as_array()) {
      if (!text.empty()) text += ',';
      text += dictionary_text(each, quote);
    }
    return "[" + text + "]";
  }
  if (item.is_object()) {
    for (const auto& member : item.as_object()) {
      if (!text.empty()) text += ',';
      text += std::string(member.key()) + ":" + dictionary_text(member.value(), quote);
    }
    return "{" + text + "}";
  }
  if (item.is_bool()) return item.as_bool() ? "true" : "false";
  return item.is_int64() ? fmt::format("{}", item.as_int64())
                         : fmt::format("{}", item.to_number<double>());
}

bool take_text_value(CallTextReader* reader, const CallFormat& form, std::string_view text) {
  const std::string_view mark = without_space_behind(form.key_end);
  return reader->take(mark) &&
         reader->take_exactly(std::string_view(form.key_end).substr(mark.size())) &&
         reader->take_exactly(text);
}

bool take_parameter(CallTextReader* reader, const CallFormat& form, std::string_view key,
                    const value& item) {
  if (!reader->take(form.parameter) || !reader->take(key)) return false;
  if (item.is_string()) {
    const boost::json::string& text = item.as_string();
    if (!take_text_value(reader, form, {text.data(), text.size()})) return false;
  } else {
    const std::string& end = form.json_key_end.empty() ? form.key_end : form.json_key_end;
    if (!reader->take(end) || !reader->take_value(item)) return false;
  }
  return reader->take(form.value_end);
}

bool take_arguments(CallTextReader* reader, const CallFormat& form,
                    const boost::json::object& arguments) {
  if (form.arguments == ArgumentForm::kJson) return reader->take_json(arguments);
  if (form.arguments == ArgumentForm::kDictionary) {
    const std::string text = dictionary_text(arguments, form.quote);
    return reader->take(std::string_view(text).substr(1, text.size() - 2));
  }
  bool first = true;
  for (const auto& member : arguments) {
    if (form.arguments == ArgumentForm::kParameters) {
      if (!take_parameter(reader, form, member.key(), member.value())) return false;
      continue;
    }
    if (!first && !reader->take(",")) return false;
    if (!reader->take(member.key()) || !reader->take("=") || !reader->take_value(member.value())) {
      return false;
    }
    first = false;
  }
  return true;
}

bool take_call(CallTextReader* reader, const CallFormat& form, const ProbeCall& call) {
  if (!reader->take(form.begin)) return false;
  if (form.id_place == IdPlace::kBeforeName) {
    if (!reader->take_id() || !reader->take(form.id_end)) return false;
  }
  if (form.id_place == IdPlace::kAroundName && !reader->take(form.id_begin)) return false;
  if (!reader->take(call.name)) return false;
  if (form.id_place == IdPlace::kAroundName && !reader->take_number_behind_colon()) return false;
  if (form.id_place == IdPlace::kBehindName) {
    if (!reader->take(form.id_begin) || !reader->take_id()) return false;
  }
  if (!reader->take(form.name_end) || !take_arguments(reader, form, call.arguments)) return false;
  if (form.id_place == IdPlace::kBehindArguments) {
    if (!reader->take(form.id_begin) || !reader->take_id() || !reader->take(form.id_end)) {
      return false;
    }
  }
  return reader->take(form.end);
}

}  // namespace

size_t json_text_bytes(std::string_view text) {
  if (text.empty() || (text.front() != '{' && text.front() != '[')) return 0;
  size_t depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
      continue;
    }
    if (c == '"') quoted = true;
    if (c == '{' || c == '[') ++depth;
    if ((c == '}' || c == ']') && --depth == 0) return i + 1;
  }
  return 0;
}

bool is_json_of(std::string_view text, const value& expected) {
  if (text.empty()) return false;
  try {
    return read_json(text) == expected;
  } catch (const Error&) {
    return false;
  }
}

bool is_written_so(const CallFormat& form, const std::vector<ProbeCall>& calls,
                   std::string_view turn, bool open) {
  CallTextReader reader(turn);
  if (!reader.take(form.section_begin)) return false;
  for (size_t i = 0; i < calls.size(); ++i) {
    if (i > 0 && !reader.take(form.separator)) return false;
    if (!take_call(&reader, form, calls[i])) return false;
  }
  if (open && reader.at_end()) return true;
  return reader.take(form.section_end) && reader.at_end();
}

}  // namespace hearth
