// Operations that filters and methods of strings share.
#include <algorithm>

#include "base/utf8.h"
#include "template/template_calls.h"
#include "template/template_lexer.h"
#include "template/template_print.h"

namespace hearth {
namespace {

bool has_character(TemplateBudget& budget, const Text& characters, std::string_view one) {
  return find_text(budget, characters.bytes(), one) != std::string_view::npos;
}

bool ends_line(char32_t c) {
  return (c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 ||
         c == 0x2029;
}

// Inserts `by` before every character and at the end, as Python replaces the empty string.
TemplateValue replace_nothing(TemplateBudget& budget, const Text& text, const Text& by,
                              int64_t most) {
  TextBuilder builder(budget);
  std::string_view bytes = text.bytes();
  size_t at = 0;
  for (; at < bytes.size() && most > 0; --most) {
    size_t length = character_bytes(bytes[at]);
    builder.append(by);
    builder.append(text, at, at + length);
    budget.mapped(1);
    at += length;
  }
  builder.append(text, at, bytes.size());
  if (most > 0) builder.append(by);
  return string_value(builder.finish(text.markup()));
}

}  // namespace

TemplateValue strip_text(TemplateBudget& budget, const Text& text, const Text* characters,
                         bool left, bool right) {
  std::string_view bytes = text.bytes();
  size_t begin = 0, end = bytes.size();
  if (characters == nullptr) {
    if (left) begin = leading_space(bytes);
    if (right) end -= trailing_space(bytes.substr(begin));
    budget.mapped(bytes.size() - (end - begin));
  } else {
    while (left && begin < end) {
      size_t length = character_bytes(bytes[begin]);
      if (!has_character(budget, *characters, bytes.substr(begin, length))) break;
      begin += length;
    }
    while (right && end > begin) {
      size_t at = end - 1;
      while ((bytes[at] & 0xC0) == 0x80) --at;
      if (!has_character(budget, *characters, bytes.substr(at, end - at))) break;
      end = at;
    }
  }
  TextBuilder builder(budget);
  builder.append(text, begin, end);
  return string_value(builder.finish(text.markup()));
}

TemplateValue replace_text(TemplateBudget& budget, const Text& text, const Text& old,
                           const Text& by, int64_t most) {
  if (most < 0) most = INT64_MAX;
  if (old.bytes().empty()) return replace_nothing(budget, text, by, most);
  TextBuilder builder(budget);
  std::string_view bytes = text.bytes();
  size_t done = 0;
  for (; most > 0; --most) {
    size_t at = find_text(budget, bytes, old.bytes(), done);
    if (at == std::string_view::npos) break;
    builder.append(text, done, at);
    builder.append(by);
    done = at + old.bytes().size();
  }
  builder.append(text, done, bytes.size());
  return string_value(builder.finish(text.markup()));
}

TemplateValue join_values(TemplateHeap& heap, const Text& between,
                          const std::vector<TemplateValue>& values, bool strings_only) {
  TextBuilder builder(heap.budget());
  for (size_t i = 0; i < values.size(); ++i) {
    heap.budget().scanned(32);
    if (i > 0) builder.append(between);
    if (strings_only && !values[i].is_string()) {
      fault("join() takes strings, and one is a {}", type_name(values[i]));
    }
    print_value(builder, heap.budget(), values[i]);
  }
  return string_value(builder.finish(strings_only && between.markup()));
}

std::vector<TextRef> split_lines(TemplateBudget& budget, const Text& text) {
  std::vector<TextRef> lines;
  std::string_view bytes = text.bytes();
  budget.mapped(bytes.size());
  size_t begin = 0;
  auto add = [&](size_t end) {
    TextBuilder line(budget);
    line.append(text, begin, end);
    lines.push_back(line.finish(text.markup()));
    budget.add_elements(1);
  };
  for (size_t at = 0; at < bytes.size();) {
    size_t next = at + character_bytes(bytes[at]);
    if (ends_line(utf8_decode(bytes.substr(at, next - at)))) {
      add(at);
      if (bytes[at] == '\r' && next < bytes.size() && bytes[next] == '\n') ++next;
      begin = next;
    }
    at = next;
  }
  if (begin < bytes.size()) add(bytes.size());
  return lines;
}

BoundArguments bind_arguments(std::string_view what, const Arguments& arguments,
                              std::initializer_list<std::string_view> names, size_t required) {
  BoundArguments bound(names.size());
  if (arguments.positional.size() > names.size()) {
    fault("{} takes {} arguments, and {} are given", what, names.size(),
          arguments.positional.size());
  }
  std::ranges::copy(arguments.positional, bound.begin());
  for (const auto& [name, value] : arguments.named) {
    auto found = std::ranges::find(names, std::string_view(name));
    if (found == names.end() || name.starts_with('/')) {
      fault("{} takes no argument named '{}'", what, name.substr(0, 100));
    }
    auto index = static_cast<size_t>(found - names.begin());
    if (bound[index]) fault("{} is given the argument '{}' twice", what, name);
    bound[index] = value;
  }
  for (size_t i = 0; i < required; ++i) {
    if (!bound[i]) fault("{} needs {} arguments", what, required);
  }
  return bound;
}

const TextRef& require_text(std::string_view what, const TemplateValue& value) {
  require_defined(value);
  if (!value.is_string()) fault("{} must be a string, not a {}", what, type_name(value));
  return value.text;
}

int64_t require_whole(std::string_view what, const TemplateValue& value) {
  require_defined(value);
  if (!value.is_whole()) fault("{} must be a whole number, not a {}", what, type_name(value));
  return value.whole;
}

}  // namespace hearth
