// Markup: writes XML that is valid in HTML, too: elements with attributes. All text is escaped, so
// that a name in a report never becomes markup. Elements end in the reverse order of their
// beginnings.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hearth {

using Attributes = std::vector<std::pair<std::string_view, std::string>>;

class Markup {
 public:
  Markup& begin(std::string_view element, const Attributes& attributes = {});
  Markup& end();
  Markup& text(std::string_view text);
  // Add an empty element, and one with a text.
  Markup& leaf(std::string_view element, const Attributes& attributes);
  Markup& with(std::string_view element, const Attributes& attributes, std::string_view text);
  // Adds a <style> element. HTML does not unescape its text, so `rules` must have no '<' or '&'.
  Markup& style(std::string_view rules);
  // Appends the complete elements of another Markup.
  Markup& append(const Markup& other);

  // Returns the text written; every element must have ended.
  const std::string& made() const;

 private:
  void head(std::string_view element, const Attributes& attributes);

  std::string out_;
  std::vector<std::string> open_;
};

// Escapes XML's five special characters for text and attributes, and replaces control characters,
// which XML does not allow, by U+FFFD.
std::string escape_markup(std::string_view text);

// pixels() writes a length, "12.34"; all_digits() writes a value with all digits, as JSON does.
std::string pixels(double value);
std::string all_digits(double value);

// Returns the approximate width of a text in pixels, in a sans-serif font of this size.
double text_width(std::string_view text, double size);
// Returns the text. If it is wider than `width`, returns its beginning and "...".
std::string text_within(std::string_view text, double size, double width);
// Returns the text in lines of at most `width`, broken at spaces; a longer word has a line to
// itself.
std::vector<std::string> lines_within(std::string_view text, double size, double width);

}  // namespace hearth
