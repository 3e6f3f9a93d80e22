#include "report/markup.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/utf8.h"

namespace hearth {
namespace {

constexpr std::string_view kEllipsis = "...";

// Returns a character's width as a part of the font's size, by the wider ones of common fonts.
double character_width(char32_t c) {
  constexpr std::u32string_view kNarrow = U" !'(),./:;I[\\]`fijlrt{|}";
  constexpr std::u32string_view kWide = U"%@MWmw";
  constexpr char32_t kFirstWideScript = 0x1100;
  if (c >= kFirstWideScript) return 1;
  if (kNarrow.find(c) != std::u32string_view::npos) return 0.38;
  if (kWide.find(c) != std::u32string_view::npos) return 0.98;
  return c >= U'A' && c <= U'Z' ? 0.72 : 0.63;
}

// Returns the length in bytes of a text's first character; the text must not be empty.
size_t first_character(std::string_view text) {
  return std::max<size_t>(utf8_sequence(text.substr(0, 4)), 1);
}

}  // namespace

void Markup::head(std::string_view element, const Attributes& attributes) {
  out_ += fmt::format("<{}", element);
  for (const auto& [name, value] : attributes) {
    out_ += fmt::format(" {}=\"{}\"", name, escape_markup(value));
  }
}

Markup& Markup::begin(std::string_view element, const Attributes& attributes) {
  head(element, attributes);
  out_ += ">";
  open_.emplace_back(element);
  return *this;
}

Markup& Markup::end() {
  HEARTH_CHECK(!open_.empty(), "an element that ends has begun");
  out_ += fmt::format("</{}>\n", open_.back());
  open_.pop_back();
  return *this;
}

Markup& Markup::text(std::string_view text) {
  out_ += escape_markup(text);
  return *this;
}

Markup& Markup::leaf(std::string_view element, const Attributes& attributes) {
  head(element, attributes);
  out_ += "/>\n";
  return *this;
}

Markup& Markup::with(std::string_view element, const Attributes& attributes,
                     std::string_view caption) {
  return begin(element, attributes).text(caption).end();
}

Markup& Markup::style(std::string_view rules) {
  HEARTH_CHECK(rules.find_first_of("<&") == std::string_view::npos, "rules need no escapes");
  begin("style");
  out_ += rules;
  return end();
}

Markup& Markup::append(const Markup& other) {
  out_ += other.made();
  return *this;
}

const std::string& Markup::made() const {
  HEARTH_CHECK(open_.empty(), "every element has ended");
  return out_;
}

std::string escape_markup(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t length = utf8_sequence(text.substr(0, 4));
    const char c = text[0];
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else if (c == '\'') {
      out += "&#39;";
    } else if (length == 0 || (length == 1 && (c < ' ' || c == '\x7f') && c != '\n')) {
      out += kReplacementCharacter;
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return out;
}

std::string pixels(double value) {
  std::string text = fmt::format("{:.2f}", value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text == "-0" ? "0" : text;
}

std::string all_digits(double value) { return fmt::format("{}", value); }

double text_width(std::string_view text, double size) {
  double width = 0;
  while (!text.empty()) {
    const size_t length = first_character(text);
    const bool whole = utf8_sequence(text.substr(0, 4)) > 0;
    width += whole ? character_width(utf8_decode(text.substr(0, length))) : 1;
    text.remove_prefix(length);
  }
  return width * size;
}

std::string text_within(std::string_view text, double size, double width) {
  if (text_width(text, size) <= width) return std::string(text);
  std::string out;
  while (!text.empty()) {
    const size_t length = first_character(text);
    std::string longer = out + std::string(text.substr(0, length));
    if (text_width(longer + std::string(kEllipsis), size) > width) break;
    out = std::move(longer);
    text.remove_prefix(length);
  }
  return out + std::string(kEllipsis);
}

std::vector<std::string> lines_within(std::string_view text, double size, double width) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const size_t space = text.find(' ');
    const std::string word(text.substr(0, space));
    text.remove_prefix(space == std::string_view::npos ? text.size() : space + 1);
    if (word.empty()) continue;
    if (!lines.empty() && text_width(lines.back() + " " + word, size) <= width) {
      lines.back() += " " + word;
    } else {
      lines.push_back(word);
    }
  }
  return lines;
}

}  // namespace hearth
