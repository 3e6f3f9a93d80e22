#include "tokenizer/text_normalizer.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/utf8.h"
#include "tokenizer/newer_characters.h"

namespace hearth {

namespace {

using Marked = TextNormalizer::Marked;

// Builds a normalised text, piece by piece.
class Maker {
 public:
  Maker(const Marked& from, size_t most) : from_(from), most_(most) {}

  void keep(size_t begin, size_t end) {
    made_.text.append(from_.text, begin, end - begin);
    if (!from_.untrusted.empty()) {
      made_.untrusted.insert(made_.untrusted.end(), from_.untrusted.begin() + signed_of(begin),
                             from_.untrusted.begin() + signed_of(end));
    }
    check();
  }

  // Appends `text` in place of [begin, end) of the original.
  void put(std::string_view text, size_t begin, size_t end) {
    made_.text += text;
    if (!from_.untrusted.empty()) {
      const bool untrusted = std::any_of(from_.untrusted.begin() + signed_of(begin),
                                         from_.untrusted.begin() + signed_of(end),
                                         [](uint8_t byte) { return byte != 0; });
      made_.untrusted.insert(made_.untrusted.end(), text.size(), untrusted ? 1 : 0);
    }
    check();
  }

  Marked finish() { return std::move(made_); }

 private:
  static ptrdiff_t signed_of(size_t at) { return static_cast<ptrdiff_t>(at); }

  void check() const {
    if (made_.text.size() <= most_) return;
    fail(ErrorCode::kRequest,
         "the tokenizer's normalizer expands the text to more than {} bytes: shorten it", most_);
  }

  const Marked& from_;
  size_t most_;
  Marked made_;
};

// Returns whether the text is in NFC for certain: all characters lie below U+0300.
bool is_plain(std::string_view text) {
  return std::ranges::none_of(text, [](char c) { return static_cast<uint8_t>(c) >= 0xCC; });
}

uint8_t combining_class(utf8proc_int32_t character) {
  return static_cast<uint8_t>(utf8proc_get_property(character)->combining_class);
}

// Sorts marks by their combining classes, stably; in linear time, since a text may be nothing but
// marks.
void sort_marks(std::span<utf8proc_int32_t> marks) {
  constexpr size_t kFew = 32;
  if (marks.size() <= kFew) {
    std::ranges::stable_sort(marks, {}, combining_class);
    return;
  }
  std::array<size_t, 257> first{};
  for (utf8proc_int32_t mark : marks) ++first[combining_class(mark) + 1u];
  for (size_t i = 1; i < first.size(); ++i) first[i] += first[i - 1];
  std::vector<utf8proc_int32_t> sorted(marks.size());
  for (utf8proc_int32_t mark : marks) sorted[first[combining_class(mark)]++] = mark;
  std::ranges::copy(sorted, marks.begin());
}

// Returns the canonical composition (NFC) of well-formed text. utf8proc sorts marks in quadratic
// time, so they are sorted before.
std::string nfc(std::string_view text) {
  constexpr auto kDecompose = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE);
  std::vector<utf8proc_int32_t> characters;
  while (!text.empty()) {
    const size_t length = utf8_sequence(text);
    std::array<utf8proc_int32_t, 8> parts{};
    int last_class = 0;
    const auto count =
        utf8proc_decompose_char(static_cast<utf8proc_int32_t>(utf8_decode(text.substr(0, length))),
                                parts.data(), parts.size(), kDecompose, &last_class);
    characters.insert(characters.end(), parts.begin(), parts.begin() + count);
    text.remove_prefix(length);
  }
  auto starter = [](utf8proc_int32_t c) { return combining_class(c) == 0; };
  for (auto at = characters.begin(); at != characters.end();) {
    const auto marks = std::find_if_not(at, characters.end(), starter);
    at = std::find_if(marks, characters.end(), starter);
    sort_marks({marks, at});
  }
  const auto count =
      utf8proc_normalize_utf32(characters.data(), static_cast<utf8proc_ssize_t>(characters.size()),
                               static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  std::string composed;
  for (utf8proc_ssize_t i = 0; i < count; ++i) {
    utf8_append(composed, static_cast<char32_t>(characters[static_cast<size_t>(i)]));
  }
  return composed;
}

// Composes a text in parts: no ASCII character composes with anything before it, so the text is cut
// before each of them.
void compose(std::string_view text, Maker* maker) {
  if (is_plain(text)) return maker->keep(0, text.size());
  for (size_t begin = 0; begin < text.size();) {
    const size_t first = utf8_sequence(text.substr(begin));
    size_t end = begin + std::max<size_t>(first, 1);
    while (first > 0 && end < text.size() && static_cast<uint8_t>(text[end]) >= 0x80) {
      const size_t length = utf8_sequence(text.substr(end));
      if (length == 0) break;
      end += length;
    }
    const std::string_view part = text.substr(begin, end - begin);
    if (first == 0 || is_plain(part)) {
      maker->keep(begin, end);
    } else {
      maker->put(nfc(part), begin, end);
    }
    begin = end;
  }
}

void replace(const ReplaceStep& step, const Pattern& pattern, std::string_view text,
             MatchMemory& memory, Maker* maker) {
  for (size_t begin = 0; begin < text.size();) {
    size_t end = begin;
    while (size_t length = utf8_sequence(text.substr(end))) end += length;
    const std::string_view valid = text.substr(begin, end - begin);
    std::string made;
    const auto seen = step.pattern.is_regex ? with_stand_ins(valid, &made) : valid;
    size_t done = 0;
    for (Pattern::Cursor at; !valid.empty() && pattern.next(seen, &at, memory);) {
      maker->keep(begin + done, begin + at.begin);
      maker->put(step.content, begin + at.begin, begin + at.end);
      done = at.end;
    }
    maker->keep(begin + done, end);
    if (end < text.size()) maker->keep(end, end + 1);
    begin = end + 1;
  }
}

}  // namespace

TextNormalizer::TextNormalizer(std::span<const NormalizeStep> steps, std::string_view file) {
  for (const NormalizeStep& step : steps) {
    Step made{step, {}};
    if (const auto* replaced = std::get_if<ReplaceStep>(&step)) {
      made.pattern.emplace_back(replaced->pattern, file);
    }
    steps_.push_back(std::move(made));
  }
}

TextNormalizer::Marked TextNormalizer::run(Marked text, size_t most, MatchMemory& memory) const {
  for (const Step& step : steps_) {
    Maker maker(text, most);
    if (const auto* prepend = std::get_if<PrependStep>(&step.what)) {
      if (!text.text.empty()) maker.put(prepend->text, 0, 1);
      maker.keep(0, text.text.size());
    } else if (const auto* replaced = std::get_if<ReplaceStep>(&step.what)) {
      replace(*replaced, step.pattern[0], text.text, memory, &maker);
    } else {
      compose(text.text, &maker);
    }
    text = maker.finish();
  }
  return text;
}

}  // namespace hearth
