// XML in the making, which HTML readers take too: elements with attributes, and all text escaped,
// so that a name in a report is never markup. Elements end in the order in which they were begun.
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
  // Add an element that holds nothing, and one that holds a text.
  Markup& leaf(std::string_view element, const Attributes& attributes);
  Markup& with(std::string_view element, const Attributes& attributes, std::string_view text);
  // A <style>, whose text HTML takes as it stands: rules of our own, without '<' and '&'.
  Markup& style(std::string_view rules);
  // Appends whole elements that another Markup made.
  Markup& append(const Markup& other);

  // Returns the text; every element must have ended.
  const std::string& made() const;

 private:
  void head(std::string_view element, const Attributes& attributes);

  std::string out_;
  std::vector<std::string> open_;
};

// Escapes for XML's text and attributes the five characters that are XML's own, and replaces
// control characters, which XML does not have, by U+FFFD.
std::string escape_markup(std::string_view text);

// A length in pixels: "12.34". A value as JSON writes it, with all its digits.
std::string pixels(double value);
std::string all_digits(double value);

// Returns about how wide a text is, in pixels, in a font without serifs of that size.
double text_width(std::string_view text, double size);
// The text, or its beginning and "..." where it is wider than that.
std::string text_within(std::string_view text, double size, double width);
// The text in lines that are no wider, broken at spaces; a longer word has a line of its own.
std::vector<std::string> lines_within(std::string_view text, double size, double width);

}  // namespace hearth
