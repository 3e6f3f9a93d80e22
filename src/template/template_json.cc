// The filter tojson, which writes a value as Python's json.dumps() does.
#include <algorithm>
#include <cmath>

#include "base/utf8.h"
#include "template/template_calls.h"
#include "template/template_print.h"

namespace hearth {
namespace {

class JsonWriter {
 public:
  JsonWriter(TemplateHeap& heap, const Arguments& arguments)
      : budget_(heap.budget()), out_(budget_) {
    BoundArguments bound =
        bind_arguments("tojson", arguments, {"ensure_ascii", "indent", "separators", "sort_keys"});
    ascii_ = bound[0] && is_truthy(*bound[0]);
    sort_ = bound[3] && is_truthy(*bound[3]);
    if (bound[1] && !bound[1]->is(ValueKind::kNone)) set_indent(*bound[1]);
    bool given = bound[2] && !bound[2]->is(ValueKind::kNone);
    if (!given) {
      between_ = string_value(budget_, indent_ ? "," : ", ").text;
      colon_ = string_value(budget_, ": ").text;
      return;
    }
    std::vector<TemplateValue> parts = values_of(heap, *bound[2]);
    if (parts.size() != 2) fault("tojson's separators must be two strings");
    between_ = require_text("tojson's separator", parts[0]);
    colon_ = require_text("tojson's separator", parts[1]);
  }

  TemplateValue write(const TemplateValue& value) {
    write_value(value, 0);
    return string_value(out_.finish());
  }

 private:
  void set_indent(const TemplateValue& indent) {
    if (indent.is_string()) {
      indent_ = indent.text;
      return;
    }
    int64_t width = require_whole("tojson's indent", indent);
    TextBuilder spaces(budget_);
    spaces.require_room(static_cast<size_t>(std::clamp<int64_t>(width, 0, INT32_MAX)));
    if (width > 0) spaces.append(std::string(static_cast<size_t>(width), ' '), indent.untrusted);
    indent_ = spaces.finish();
  }

  void write_value(const TemplateValue& value, uint32_t depth) {
    check_value_depth(depth);
    budget_.scanned(64);
    switch (value.kind) {
      case ValueKind::kNone:
        return out_.append("null", value.untrusted);
      case ValueKind::kBool:
        return out_.append(value.whole != 0 ? "true" : "false", value.untrusted);
      case ValueKind::kInt:
        return out_.append(fmt::format("{}", value.whole), value.untrusted);
      case ValueKind::kFloat:
        return out_.append(number(value.real), value.untrusted);
      case ValueKind::kString:
        return write_string(*value.text);
      case ValueKind::kList:
      case ValueKind::kTuple:
        return write_list(value.as<ListObject>(), depth);
      case ValueKind::kDict:
        return write_dict(value.as<DictObject>(), depth);
      default:
        fault("tojson cannot write a {}", type_name(value));
    }
  }

  static std::string number(double value) {
    if (std::isnan(value)) return "NaN";
    if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
    return float_text(value);
  }

  std::string escape(char32_t c) const {
    switch (c) {
      case '"':
        return "\\\"";
      case '\\':
        return "\\\\";
      case '\n':
        return "\\n";
      case '\r':
        return "\\r";
      case '\t':
        return "\\t";
      case '\f':
        return "\\f";
      case '\b':
        return "\\b";
      default:
        break;
    }
    auto code = static_cast<uint32_t>(c);
    if (code < 0x20 || (ascii_ && code > 0x7F && code < 0x10000)) {
      return fmt::format("\\u{:04x}", code);
    }
    if (ascii_ && code >= 0x10000) {
      code -= 0x10000;
      return fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + (code >> 10), 0xDC00 + (code & 0x3FF));
    }
    return "";
  }

  void write_string(const Text& text) {
    std::string_view bytes = text.bytes();
    budget_.mapped(bytes.size());
    out_.append("\"", false);
    for (size_t at = 0; at < bytes.size();) {
      size_t length = character_bytes(bytes[at]);
      std::string escaped = escape(utf8_decode(bytes.substr(at, length)));
      if (escaped.empty()) {
        out_.append(text, at, at + length);
      } else {
        out_.append(escaped, text.any_untrusted(at, at + length));
      }
      at += length;
    }
    out_.append("\"", false);
  }

  void new_line(uint32_t depth) {
    if (indent_ == nullptr) return;
    budget_.mapped(depth);
    out_.append("\n", false);
    for (uint32_t i = 0; i < depth; ++i) out_.append(*indent_);
  }

  void write_list(const ListObject& list, uint32_t depth) {
    out_.append("[", false);
    for (size_t i = 0; i < list.items.size(); ++i) {
      if (i > 0) out_.append(*between_);
      new_line(depth + 1);
      write_value(list.items[i], depth + 1);
    }
    if (!list.items.empty()) new_line(depth);
    out_.append("]", false);
  }

  void write_key(const TemplateValue& key, uint32_t depth) {
    if (key.is_string()) return write_string(*key.text);
    if (!key.is_number() && !key.is(ValueKind::kNone)) {
      fault("tojson cannot write a {} as a key", type_name(key));
    }
    out_.append("\"", false);
    write_value(key, depth);
    out_.append("\"", false);
  }

  void write_dict(const DictObject& dict, uint32_t depth) {
    std::vector<const std::pair<TemplateValue, TemplateValue>*> entries;
    for (const auto& entry : dict.entries) entries.push_back(&entry);
    if (sort_) {
      std::ranges::stable_sort(entries, [&](const auto* a, const auto* b) {
        budget_.step();
        return ordered(budget_, OrderOp::kLess, a->first, b->first);
      });
    }
    out_.append("{", false);
    for (size_t i = 0; i < entries.size(); ++i) {
      if (i > 0) out_.append(*between_);
      new_line(depth + 1);
      write_key(entries[i]->first, depth + 1);
      out_.append(*colon_);
      write_value(entries[i]->second, depth + 1);
    }
    if (!entries.empty()) new_line(depth);
    out_.append("}", false);
  }

  TemplateBudget& budget_;
  TextBuilder out_;
  bool ascii_ = false, sort_ = false;
  TextRef indent_, between_, colon_;
};

}  // namespace

TemplateValue to_json(TemplateHeap& heap, const TemplateValue& subject,
                      const Arguments& arguments) {
  return JsonWriter(heap, arguments).write(subject);
}

}  // namespace hearth
