#include "template/template_print.h"

#include <utf8proc.h>

#include <charconv>
#include <cmath>

#include "base/utf8.h"

namespace hearth {
namespace {

bool is_printable(char32_t c) {
  if (c == ' ') return true;
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
    case UTF8PROC_CATEGORY_ZS:
      return false;
    default:
      return true;
  }
}

std::string escaped(char32_t c, char quote) {
  if (c == '\\') return "\\\\";
  if (c == static_cast<unsigned char>(quote)) return std::string("\\") + quote;
  if (c == '\n') return "\\n";
  if (c == '\r') return "\\r";
  if (c == '\t') return "\\t";
  auto code = static_cast<uint32_t>(c);
  if (code < 0x100) return fmt::format("\\x{:02x}", code);
  return code < 0x10000 ? fmt::format("\\u{:04x}", code) : fmt::format("\\U{:08x}", code);
}

void print_string_repr(TextBuilder& out, TemplateBudget& budget, const Text& text) {
  std::string_view bytes = text.bytes();
  budget.mapped(bytes.size());
  bool single = bytes.find('\'') != std::string_view::npos;
  char quote = single && bytes.find('"') == std::string_view::npos ? '"' : '\'';
  if (text.markup()) out.append("Markup(", false);
  out.append({&quote, 1}, false);
  for (size_t at = 0; at < bytes.size();) {
    size_t length = character_bytes(bytes[at]);
    char32_t c = utf8_decode(bytes.substr(at, length));
    if (c != '\\' && c != static_cast<unsigned char>(quote) && is_printable(c)) {
      out.append(text, at, at + length);
    } else {
      out.append(escaped(c, quote), text.any_untrusted(at, at + length));
    }
    at += length;
  }
  out.append({&quote, 1}, false);
  if (text.markup()) out.append(")", false);
}

void print_items(TextBuilder& out, TemplateBudget& budget, const TemplateValue& value,
                 uint32_t depth) {
  bool tuple = value.is(ValueKind::kTuple);
  const auto& items = value.as<ListObject>().items;
  out.append(tuple ? "(" : "[", false);
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out.append(", ", false);
    print_repr(out, budget, items[i], depth + 1);
  }
  out.append(tuple ? items.size() == 1 ? ",)" : ")" : "]", false);
}

void print_entry(TextBuilder& out, TemplateBudget& budget,
                 const std::pair<TemplateValue, TemplateValue>& entry, const char* between,
                 uint32_t depth) {
  print_repr(out, budget, entry.first, depth + 1);
  out.append(between, false);
  print_repr(out, budget, entry.second, depth + 1);
}

void print_dict(TextBuilder& out, TemplateBudget& budget, const DictObject& dict, uint32_t depth) {
  out.append("{", false);
  for (size_t i = 0; i < dict.entries.size(); ++i) {
    if (i > 0) out.append(", ", false);
    print_entry(out, budget, dict.entries[i], ": ", depth);
  }
  out.append("}", false);
}

void print_view(TextBuilder& out, TemplateBudget& budget, const ViewObject& view, uint32_t depth) {
  constexpr const char* kNames[] = {"dict_items([", "dict_keys([", "dict_values(["};
  out.append(kNames[static_cast<size_t>(view.view)], false);
  for (size_t i = 0; i < view.dict->entries.size(); ++i) {
    if (i > 0) out.append(", ", false);
    const auto& entry = view.dict->entries[i];
    if (view.view == ViewKind::kItems) {
      out.append("(", false);
      print_entry(out, budget, entry, ", ", depth + 1);
      out.append(")", false);
    } else {
      const TemplateValue& shown = view.view == ViewKind::kKeys ? entry.first : entry.second;
      print_repr(out, budget, shown, depth + 1);
    }
  }
  out.append("])", false);
}

std::string range_text(const RangeObject& range) {
  if (range.step == 1) return fmt::format("range({}, {})", range.start, range.stop);
  return fmt::format("range({}, {}, {})", range.start, range.stop, range.step);
}

}  // namespace

std::string float_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[64];
  double size = std::fabs(value);
  bool plain = size == 0 || (size >= 1e-4 && size < 1e16);
  auto format = plain ? std::chars_format::fixed : std::chars_format::scientific;
  auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value, format);
  std::string text(buffer, end);
  if (plain && text.find('.') == std::string::npos) text += ".0";
  return text;
}

void print_repr(TextBuilder& out, TemplateBudget& budget, const TemplateValue& value,
                uint32_t depth) {
  check_value_depth(depth);
  budget.scanned(64);
  switch (value.kind) {
    case ValueKind::kUndefined:
      return out.append("Undefined", false);
    case ValueKind::kNone:
      return out.append("None", value.untrusted);
    case ValueKind::kBool:
      return out.append(value.whole != 0 ? "True" : "False", value.untrusted);
    case ValueKind::kInt:
      return out.append(fmt::format("{}", value.whole), value.untrusted);
    case ValueKind::kFloat:
      return out.append(float_text(value.real), value.untrusted);
    case ValueKind::kString:
      return print_string_repr(out, budget, *value.text);
    case ValueKind::kList:
    case ValueKind::kTuple:
      return print_items(out, budget, value, depth);
    case ValueKind::kDict:
      return print_dict(out, budget, value.as<DictObject>(), depth);
    case ValueKind::kView:
      return print_view(out, budget, value.as<ViewObject>(), depth);
    case ValueKind::kRange:
      return out.append(range_text(value.as<RangeObject>()), false);
    case ValueKind::kNamespace:
      out.append("<Namespace ", false);
      print_dict(out, budget, value.as<DictObject>(), depth);
      return out.append(">", false);
    default:
      fault("a {} cannot be printed", type_name(value));
  }
}

void print_value(TextBuilder& out, TemplateBudget& budget, const TemplateValue& value) {
  if (value.is_string()) {
    out.append(*value.text);
  } else if (!value.is_undefined()) {
    print_repr(out, budget, value);
  }
}

TextRef text_of(TemplateBudget& budget, const TemplateValue& value) {
  if (value.is_string()) return value.text;
  TextBuilder builder(budget);
  print_value(builder, budget, value);
  return builder.finish();
}

}  // namespace hearth
