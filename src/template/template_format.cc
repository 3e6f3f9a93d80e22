// `%` on strings, as Python's printf-style formatting.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "template/template_print.h"

namespace hearth {
namespace {

struct Directive {
  bool left = false, zero = false, plus = false, space = false, alternate = false;
  size_t width = 0;
  int precision = -1;
  char kind = 0;
};

class PercentFormat {
 public:
  PercentFormat(TemplateHeap& heap, const Text& format, const TemplateValue& value)
      : budget_(heap.budget()), format_(format), value_(value), out_(budget_) {
    if (value.is(ValueKind::kTuple)) {
      values_ = value.as<ListObject>().items;
    } else {
      values_ = {value};
    }
  }

  TemplateValue run() {
    std::string_view bytes = format_.bytes();
    budget_.mapped(bytes.size());
    while (at_ < bytes.size()) {
      size_t percent = std::min(bytes.find('%', at_), bytes.size());
      out_.append(format_, at_, percent);
      at_ = percent;
      if (at_ < bytes.size()) write_directive();
    }
    // Python accepts a value that the format does not use if it has items and is no tuple.
    bool mapping = value_.is(ValueKind::kDict) || value_.is(ValueKind::kList) ||
                   value_.is(ValueKind::kRange) || value_.is_undefined();
    if (used_ < values_.size() && !named_ && !mapping) {
      fault("not all values were used by the format of '%'");
    }
    return string_value(out_.finish());
  }

 private:
  char peek() const {
    if (at_ >= format_.bytes().size()) fault("the format of '%' is incomplete");
    return format_.bytes()[at_];
  }

  size_t read_number() {
    size_t number = 0;
    while (peek() >= '0' && peek() <= '9') {
      number = number * 10 + static_cast<size_t>(peek() - '0');
      if (number > 1000) fault("the format of '%' has a width beyond 1000");
      ++at_;
    }
    return number;
  }

  TemplateValue next_value() {
    if (used_ >= values_.size()) fault("there are not enough values for the format of '%'");
    return values_[used_++];
  }

  TemplateValue named_value() {
    size_t end = format_.bytes().find(')', at_);
    if (end == std::string_view::npos) fault("the format of '%' is incomplete");
    if (!value_.is(ValueKind::kDict)) fault("the format of '%' takes a mapping");
    TemplateValue key = string_value(budget_, format_.bytes().substr(at_, end - at_));
    at_ = end + 1;
    named_ = true;
    const TemplateValue* found = find_entry(budget_, value_.as<DictObject>(), key);
    if (found == nullptr) fault("the format of '%' names a key that is not there");
    return *found;
  }

  void write_directive() {
    size_t begin = at_++;
    std::optional<TemplateValue> value;
    if (peek() == '(') {
      ++at_;
      value = named_value();
    }
    Directive directive;
    for (;; ++at_) {
      char c = peek();
      if (c == '-')
        directive.left = true;
      else if (c == '0')
        directive.zero = true;
      else if (c == '+')
        directive.plus = true;
      else if (c == ' ')
        directive.space = true;
      else if (c == '#')
        directive.alternate = true;
      else
        break;
    }
    directive.width = read_number();
    if (peek() == '.') {
      ++at_;
      directive.precision = static_cast<int>(read_number());
    }
    directive.kind = peek();
    ++at_;
    budget_.mapped(directive.width + static_cast<size_t>(std::max(directive.precision, 0)));
    if (directive.kind == '%') return out_.append("%", format_.any_untrusted(begin, at_));
    if (directive.alternate) fault("'#' in the format of '%' is not supported");
    if (!value) value = next_value();
    write(directive, *value);
  }

  void write(const Directive& directive, const TemplateValue& value) {
    switch (directive.kind) {
      case 's':
      case 'r':
        return write_text(directive, value);
      case 'd':
      case 'i':
      case 'u':
      case 'x':
      case 'X':
      case 'o':
        return write_whole(directive, value);
      case 'f':
      case 'F':
      case 'e':
      case 'E':
      case 'g':
      case 'G':
        return write_real(directive, value);
      default:
        fault("'%{}' in a format is not supported", std::string_view(&directive.kind, 1));
    }
  }

  void write_text(const Directive& directive, const TemplateValue& value) {
    TextRef text;
    if (directive.kind == 's') {
      text = text_of(budget_, value);
    } else {
      TextBuilder builder(budget_);
      print_repr(builder, budget_, value);
      text = builder.finish();
    }
    size_t end = text->bytes().size();
    if (directive.precision >= 0) {
      end = offset_of_character(text->bytes(), static_cast<size_t>(directive.precision));
    }
    size_t length = count_characters(text->bytes().substr(0, end));
    std::string fill(directive.width > length ? directive.width - length : 0, ' ');
    if (!directive.left) out_.append(fill, false);
    out_.append(*text, 0, end);
    if (directive.left) out_.append(fill, false);
  }

  void write_padded(const Directive& directive, bool minus, const std::string& digits,
                    bool untrusted, bool zeros) {
    std::string sign = minus ? "-" : directive.plus ? "+" : directive.space ? " " : "";
    size_t length = sign.size() + digits.size();
    std::string fill(directive.width > length ? directive.width - length : 0, ' ');
    if (directive.zero && !directive.left && zeros) {
      std::ranges::fill(fill, '0');
      return out_.append(sign + fill + digits, untrusted);
    }
    out_.append(directive.left ? sign + digits + fill : fill + sign + digits, untrusted);
  }

  void write_whole(const Directive& directive, const TemplateValue& value) {
    bool decimal = directive.kind == 'd' || directive.kind == 'i' || directive.kind == 'u';
    require_defined(value);
    TemplateValue whole = value;
    if (value.is(ValueKind::kFloat) && decimal && std::fabs(value.real) < 0x1p63) {
      whole = int_value(static_cast<int64_t>(value.real), value.untrusted);
    }
    if (!whole.is_whole()) fault("a format of '%' needs a number, not a {}", type_name(value));
    uint64_t size = whole.whole < 0 ? 0 - static_cast<uint64_t>(whole.whole)
                                    : static_cast<uint64_t>(whole.whole);
    std::string digits = decimal                 ? fmt::format("{}", size)
                         : directive.kind == 'x' ? fmt::format("{:x}", size)
                         : directive.kind == 'X' ? fmt::format("{:X}", size)
                                                 : fmt::format("{:o}", size);
    if (directive.precision > static_cast<int>(digits.size())) {
      digits.insert(0, static_cast<size_t>(directive.precision) - digits.size(), '0');
    }
    write_padded(directive, whole.whole < 0, digits, value.untrusted, true);
  }

  void write_real(const Directive& directive, const TemplateValue& value) {
    require_defined(value);
    if (!value.is_number()) fault("a format of '%' needs a number, not a {}", type_name(value));
    double real = value.number();
    bool upper = directive.kind >= 'A' && directive.kind <= 'Z';
    char kind = static_cast<char>(directive.kind | 0x20);
    std::string digits;
    if (std::isnan(real) || std::isinf(real)) {
      digits = std::isnan(real) ? "nan" : "inf";
    } else {
      int precision = directive.precision < 0 ? 6 : directive.precision;
      if (kind == 'f') digits = fmt::format("{:.{}f}", std::fabs(real), precision);
      if (kind == 'e') digits = fmt::format("{:.{}e}", std::fabs(real), precision);
      if (kind == 'g') digits = fmt::format("{:.{}g}", std::fabs(real), precision);
    }
    if (upper)
      std::ranges::transform(digits, digits.begin(), [](char c) {
        return static_cast<char>(c >= 'a' && c <= 'z' ? c - 32 : c);
      });
    bool minus = std::signbit(real) && !std::isnan(real);
    write_padded(directive, minus, digits, value.untrusted, true);
  }

  TemplateBudget& budget_;
  const Text& format_;
  const TemplateValue& value_;
  TextBuilder out_;
  std::vector<TemplateValue> values_;
  size_t at_ = 0, used_ = 0;
  bool named_ = false;
};

}  // namespace

TemplateValue format_percent(TemplateHeap& heap, const TemplateValue& format,
                             const TemplateValue& value) {
  if (format.text->markup()) fault("'%' is not supported on a string that `safe` made");
  return PercentFormat(heap, *format.text, value).run();
}

}  // namespace hearth
