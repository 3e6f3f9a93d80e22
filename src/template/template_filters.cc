// The filters of templates, but those of lists (template_list_filters.cc).
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "template/template_calls.h"
#include "template/template_filter_table.h"
#include "template/template_lexer.h"
#include "template/template_ops.h"
#include "template/template_print.h"

namespace hearth {
namespace {

bool given(const std::optional<TemplateValue>& value) {
  return value && !value->is(ValueKind::kNone);
}

TemplateValue filter_trim(TemplateHeap& heap, const TemplateValue& subject,
                          const Arguments& arguments) {
  BoundArguments bound = bind_arguments("trim", arguments, {"chars"});
  TextRef text = text_of(heap.budget(), subject);
  const Text* characters = given(bound[0]) ? require_text("chars", *bound[0]).get() : nullptr;
  return strip_text(heap.budget(), *text, characters, true, true);
}

TemplateValue filter_length(TemplateHeap& heap, const TemplateValue& subject,
                            const Arguments& arguments) {
  bind_arguments("length", arguments, {});
  size_t length = 0;
  if (!length_of(heap.budget(), subject, &length)) {
    fault("a {} has no length", type_name(subject));
  }
  return int_value(static_cast<int64_t>(length));
}

TemplateValue filter_string(TemplateHeap& heap, const TemplateValue& subject,
                            const Arguments& arguments) {
  bind_arguments("string", arguments, {});
  return string_value(text_of(heap.budget(), subject));
}

TemplateValue with_markup(TemplateBudget& budget, const TextRef& text, bool markup) {
  TextBuilder builder(budget);
  builder.append(*text);
  return string_value(builder.finish(markup));
}

TemplateValue filter_safe(TemplateHeap& heap, const TemplateValue& subject,
                          const Arguments& arguments) {
  bind_arguments("safe", arguments, {});
  return with_markup(heap.budget(), text_of(heap.budget(), subject), true);
}

TemplateValue filter_default(TemplateHeap&, const TemplateValue& subject,
                             const Arguments& arguments) {
  BoundArguments bound = bind_arguments("default", arguments, {"default_value", "boolean"});
  bool falsy = bound[1] && is_truthy(*bound[1]) && !is_truthy(subject);
  if (!subject.is_undefined() && !falsy) return subject;
  if (bound[0]) return *bound[0];
  return string_value(std::make_shared<const Text>("", std::vector<ByteRange>(), false, nullptr));
}

TemplateValue filter_case(TemplateHeap& heap, const TemplateValue& subject,
                          const Arguments& arguments, CaseMapping mapping) {
  bind_arguments("a filter of upper or lower case", arguments, {});
  return map_case(heap.budget(), text_of(heap.budget(), subject), mapping);
}

TemplateValue filter_upper(TemplateHeap& heap, const TemplateValue& subject,
                           const Arguments& arguments) {
  return filter_case(heap, subject, arguments, CaseMapping::kUpper);
}

TemplateValue filter_lower(TemplateHeap& heap, const TemplateValue& subject,
                           const Arguments& arguments) {
  return filter_case(heap, subject, arguments, CaseMapping::kLower);
}

TemplateValue filter_capitalize(TemplateHeap& heap, const TemplateValue& subject,
                                const Arguments& arguments) {
  return filter_case(heap, subject, arguments, CaseMapping::kCapitalize);
}

TemplateValue filter_replace(TemplateHeap& heap, const TemplateValue& subject,
                             const Arguments& arguments) {
  BoundArguments bound = bind_arguments("replace", arguments, {"old", "new", "count"}, 2);
  TemplateBudget& budget = heap.budget();
  int64_t most = given(bound[2]) ? require_whole("replace's count", *bound[2]) : -1;
  TextRef text = text_of(budget, subject);
  TextRef old = text_of(budget, *bound[0]);
  TextRef by = text_of(budget, *bound[1]);
  TemplateValue result = replace_text(budget, *text, *old, *by, most);
  return result.text->markup() ? with_markup(budget, result.text, false) : result;
}

TextRef indentation(TemplateBudget& budget, const std::optional<TemplateValue>& width) {
  if (width && width->is_string()) return width->text;
  int64_t spaces = width ? require_whole("indent's width", *width) : 4;
  TextBuilder builder(budget);
  builder.require_room(static_cast<size_t>(std::clamp<int64_t>(spaces, 0, INT32_MAX)));
  if (spaces > 0) {
    builder.append(std::string(static_cast<size_t>(spaces), ' '), width && width->untrusted);
  }
  return builder.finish();
}

TemplateValue filter_indent(TemplateHeap& heap, const TemplateValue& subject,
                            const Arguments& arguments) {
  BoundArguments bound = bind_arguments("indent", arguments, {"width", "first", "blank"});
  TemplateBudget& budget = heap.budget();
  TextRef text = require_text("the text to indent", subject);
  TextRef indent = indentation(budget, bound[0]);
  if (text->markup()) indent = escape_markup(budget, indent);
  // The newline that is appended keeps a last line that is empty.
  TextBuilder whole(budget);
  whole.append(*text);
  whole.append("\n", false);
  bool blank = bound[2] && is_truthy(*bound[2]);
  TextBuilder out(budget);
  if (bound[1] && is_truthy(*bound[1])) out.append(*indent);
  std::vector<TextRef> lines = split_lines(budget, *whole.finish());
  for (size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) {
      out.append("\n", false);
      if (blank || !lines[i]->bytes().empty()) out.append(*indent);
    }
    out.append(*lines[i]);
  }
  return string_value(out.finish(text->markup()));
}

// Reads a number as Python's int() does: white space around it, a sign, single underscores between
// digits, and for bases other than 10 their prefix. Returns false where it is not a number.
bool read_whole(std::string_view text, int64_t base, int64_t* whole) {
  text.remove_prefix(leading_space(text));
  text.remove_suffix(trailing_space(text));
  bool minus = text.starts_with('-');
  if (minus || text.starts_with('+')) text.remove_prefix(1);
  bool prefixed = false;
  if (text.size() > 1 && text[0] == '0') {
    char letter = static_cast<char>(text[1] | 0x20);
    int64_t of = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 0;
    if (of != 0 && (base == of || base == 0)) {
      prefixed = true;
      base = of;
      text.remove_prefix(2);
      if (text.starts_with('_')) text.remove_prefix(1);
    }
  }
  bool zeros = !prefixed && base == 0 && text.starts_with('0');
  if (base == 0) base = 10;
  std::string digits(minus ? "-" : "");
  for (size_t i = 0; i < text.size(); ++i) {
    bool between = i > 0 && i + 1 < text.size() && text[i - 1] != '_' && text[i + 1] != '_';
    if (text[i] == '_' && !between) return false;
    if (text[i] != '_') digits += text[i];
  }
  if (text.empty() || text[0] == '-' || text[0] == '+') return false;
  auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), *whole, static_cast<int>(base));
  if (end != digits.data() + digits.size()) return false;
  if (error == std::errc::result_out_of_range) fault("a whole number does not fit into 64 bits");
  return error == std::errc{} && !(zeros && *whole != 0);
}

// Reads a number as Python's float() does. Returns false where it is not one.
bool read_float(std::string_view text, double* real) {
  text.remove_prefix(leading_space(text));
  text.remove_suffix(trailing_space(text));
  bool minus = text.starts_with('-');
  if (minus || text.starts_with('+')) text.remove_prefix(1);
  if (text.empty() || text[0] == '-' || text[0] == '+') return false;
  std::string digits;
  for (size_t i = 0; i < text.size(); ++i) {
    auto is_digit = [&](size_t at) {
      return at < text.size() && text[at] >= '0' && text[at] <= '9';
    };
    if (text[i] == '_' && (i == 0 || !is_digit(i - 1) || !is_digit(i + 1))) return false;
    if (text[i] == '(') return false;
    if (text[i] != '_') digits += text[i];
  }
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), *real);
  if (end != digits.data() + digits.size()) return false;
  if (error == std::errc::result_out_of_range) *real = std::strtod(digits.c_str(), nullptr);
  if (minus) *real = -*real;
  return true;
}

TemplateValue filter_int(TemplateHeap& heap, const TemplateValue& subject,
                         const Arguments& arguments) {
  BoundArguments bound = bind_arguments("int", arguments, {"default", "base"});
  TemplateValue otherwise = bound[0].value_or(int_value(0));
  require_defined(subject);
  if (subject.is_whole()) return int_value(subject.whole, subject.untrusted);
  double real = 0;
  bool untrusted = subject.untrusted;
  if (subject.is_string()) {
    untrusted = subject.text->any_untrusted();
    int64_t base = bound[1] ? require_whole("int's base", *bound[1]) : 10;
    heap.budget().mapped(subject.bytes().size());
    bool usable = base == 0 || (base >= 2 && base <= 36);
    int64_t whole = 0;
    if (usable && read_whole(subject.bytes(), base, &whole)) return int_value(whole, untrusted);
    if (!read_float(subject.bytes(), &real)) return otherwise;
  } else if (subject.is(ValueKind::kFloat)) {
    real = subject.real;
  } else {
    return otherwise;
  }
  if (std::isnan(real)) return otherwise;
  if (!(real >= -0x1p63 && real < 0x1p63)) fault("a whole number does not fit into 64 bits");
  return int_value(static_cast<int64_t>(real), untrusted);
}

constexpr std::array kTextFilters = {
    FilterEntry{"trim", filter_trim},       FilterEntry{"length", filter_length},
    FilterEntry{"count", filter_length},    FilterEntry{"string", filter_string},
    FilterEntry{"safe", filter_safe},       FilterEntry{"default", filter_default},
    FilterEntry{"d", filter_default},       FilterEntry{"upper", filter_upper},
    FilterEntry{"lower", filter_lower},     FilterEntry{"capitalize", filter_capitalize},
    FilterEntry{"replace", filter_replace}, FilterEntry{"indent", filter_indent},
    FilterEntry{"int", filter_int},         FilterEntry{"tojson", to_json},
    FilterEntry{"from_json", from_json}};

const FilterEntry* find_filter(std::string_view name) {
  for (std::span<const FilterEntry> table :
       {std::span<const FilterEntry>(kTextFilters), list_filters()}) {
    auto found = std::ranges::find(table, name, &FilterEntry::name);
    if (found != table.end()) return &*found;
  }
  return nullptr;
}

}  // namespace

TemplateValue apply_filter(TemplateHeap& heap, std::string_view name, const TemplateValue& subject,
                           const Arguments& arguments) {
  const FilterEntry* filter = find_filter(name);
  if (filter == nullptr) {
    throw TemplateFault(fmt::format("the filter '{}' is not supported", name.substr(0, 100)), true);
  }
  heap.budget().step();
  return filter->apply(heap, subject, arguments);
}

}  // namespace hearth
