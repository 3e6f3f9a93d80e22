#include "talk/wrapped_text.h"

#include <utf8proc.h>

#include <utility>

#include "base/utf8.h"

namespace hearth {
namespace {

constexpr std::string_view kFence = "```";
constexpr size_t kTab = 8;

// Whether a character is dropped: control characters, and those that change the direction of text.
bool is_dropped(char32_t code) {
  if (code == '\n' || code == '\t') return false;
  bool control = code < 0x20 || (code >= 0x7f && code < 0xa0);
  bool turns = (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
  return control || turns;
}

}  // namespace

std::string without_controls(std::string_view text) {
  const std::string whole = well_formed_utf8(text);
  std::string kept;
  for (std::string_view rest = whole; !rest.empty();) {
    const std::string_view character = rest.substr(0, utf8_sequence(rest));
    if (!is_dropped(utf8_decode(character))) kept += character;
    rest.remove_prefix(character.size());
  }
  return kept;
}

size_t character_width(std::string_view character) {
  int width = utf8proc_charwidth(static_cast<utf8proc_int32_t>(utf8_decode(character)));
  return width > 0 ? static_cast<size_t>(width) : 0;
}

std::string WrappedText::push(std::string_view piece) {
  const std::string text = characters_.push(piece);
  for (std::string_view rest = text; !rest.empty();) {
    const size_t length = utf8_sequence(rest);
    take(rest.substr(0, length));
    rest.remove_prefix(length);
  }
  return std::exchange(out_, {});
}

std::string WrappedText::flush() {
  const std::string last = characters_.flush();
  if (!last.empty()) take(last);
  end_word();
  return std::exchange(out_, {});
}

void WrappedText::resize(unsigned columns) {
  columns_ = columns;
  column_ %= columns;
}

void WrappedText::take(std::string_view character) {
  const char32_t code = utf8_decode(character);
  if (is_dropped(code)) return;
  if (code == '\n') return end_line();
  if (line_start_.size() < kFence.size() && (code != ' ' || !line_start_.empty())) {
    line_start_ += character;
  }
  const size_t width = code == '\t' ? kTab - column_ % kTab : character_width(character);
  if (in_code_ || line_start_ == kFence) {
    end_word();
    return put(character, width);
  }
  if (code == ' ' || code == '\t') {
    end_word();
    long_word_ = false;
    spaces_ += width;
    return;
  }
  if (width > 1) end_word();
  word_ += character;
  word_width_ += width;
  if (long_word_ || width > 1 || word_width_ >= columns_) {
    long_word_ = long_word_ || (width <= 1 && word_width_ >= columns_);
    end_word();
  }
}

void WrappedText::end_line() {
  end_word();
  out_ += '\n';
  if (line_start_ == kFence) in_code_ = !in_code_;
  line_start_.clear();
  column_ = spaces_ = 0;
  long_word_ = false;
}

void WrappedText::end_word() {
  if (word_.empty()) return;
  const bool fits = column_ + spaces_ + word_width_ <= columns_;
  if (!fits && column_ > 0 && !(long_word_ && spaces_ == 0)) {
    out_ += '\n';
    column_ = 0;
  } else {
    put(std::string(spaces_, ' '), spaces_);
  }
  spaces_ = 0;
  put(word_, word_width_);
  word_.clear();
  word_width_ = 0;
}

void WrappedText::put(std::string_view text, size_t width) {
  out_ += text;
  column_ += width;
  if (column_ > columns_) column_ = (column_ - 1) % columns_ + 1;
}

}  // namespace hearth
