#include "grammar/code_points.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <string>

#include "base/utf8.h"
#include "tokenizer/newer_characters.h"

namespace hearth {
namespace {

constexpr char32_t kLastCodePoint = 0x10ffff;
constexpr CodePointRange kSurrogates{0xd800, 0xdfff};

struct CategoryName {
  std::string_view name, short_name;
};

constexpr CategoryName kLongNames[] = {
    {"Letter", "L"},
    {"Cased_Letter", "LC"},
    {"Uppercase_Letter", "Lu"},
    {"Lowercase_Letter", "Ll"},
    {"Titlecase_Letter", "Lt"},
    {"Modifier_Letter", "Lm"},
    {"Other_Letter", "Lo"},
    {"Mark", "M"},
    {"Combining_Mark", "M"},
    {"Nonspacing_Mark", "Mn"},
    {"Spacing_Mark", "Mc"},
    {"Enclosing_Mark", "Me"},
    {"Number", "N"},
    {"Decimal_Number", "Nd"},
    {"digit", "Nd"},
    {"Letter_Number", "Nl"},
    {"Other_Number", "No"},
    {"Punctuation", "P"},
    {"punct", "P"},
    {"Connector_Punctuation", "Pc"},
    {"Dash_Punctuation", "Pd"},
    {"Open_Punctuation", "Ps"},
    {"Close_Punctuation", "Pe"},
    {"Initial_Punctuation", "Pi"},
    {"Final_Punctuation", "Pf"},
    {"Other_Punctuation", "Po"},
    {"Symbol", "S"},
    {"Math_Symbol", "Sm"},
    {"Currency_Symbol", "Sc"},
    {"Modifier_Symbol", "Sk"},
    {"Other_Symbol", "So"},
    {"Separator", "Z"},
    {"Space_Separator", "Zs"},
    {"Line_Separator", "Zl"},
    {"Paragraph_Separator", "Zp"},
    {"Other", "C"},
    {"Control", "Cc"},
    {"cntrl", "Cc"},
    {"Format", "Cf"},
    {"Private_Use", "Co"},
    {"Unassigned", "Cn"},
};

constexpr std::string_view kShortNames[] = {
    "L",  "LC", "Lu", "Ll", "Lt", "Lm", "Lo", "M",  "Mn", "Mc", "Me", "N",  "Nd",
    "Nl", "No", "P",  "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "S",  "Sm", "Sc",
    "Sk", "So", "Z",  "Zs", "Zl", "Zp", "C",  "Cc", "Cf", "Co", "Cn"};

// The general categories of NewerKind's values, in their order.
constexpr std::string_view kNewerNames[] = {"Cf", "Lo", "Ll", "Lm", "Lo", "Lu", "Mc",
                                            "Mn", "Nd", "No", "Pd", "Po", "Sm", "So"};

// Returns whether the category `own` ("Lu") belongs to the category that `wanted` names ("L", "LC",
// "Lu").
bool in_category(std::string_view own, std::string_view wanted) {
  if (wanted == "LC") return own == "Lu" || own == "Ll" || own == "Lt";
  return own.starts_with(wanted);
}

// Returns the characters of a general category; characters that utf8proc does not know yet are
// added last.
CodePoints collect_category(std::string_view wanted) {
  CodePoints points, newer;
  for (const NewerRange& range : newer_characters()) {
    newer.add(range.first, range.last);
  }
  char32_t first = 0;
  bool inside = false;
  for (char32_t c = 0; c <= kLastCodePoint + 1; ++c) {
    bool now = c <= kLastCodePoint &&
               in_category(utf8proc_category_string(static_cast<utf8proc_int32_t>(c)), wanted);
    if (now && !inside) first = c;
    if (!now && inside) points.add(first, c - 1);
    inside = now;
  }
  points = points.intersection(newer.complement());
  for (const NewerRange& range : newer_characters()) {
    std::string_view own = kNewerNames[static_cast<size_t>(range.kind)];
    if (in_category(own, wanted)) points.add(range.first, range.last);
  }
  return points;
}

// Returns an expression for the characters from `first` to `last`, which have the same number of
// bytes and differ in one byte, behind which every byte takes all of its values.
RegexId byte_ranges(RegexSet& set, const std::string& first, const std::string& last) {
  std::vector<RegexId> parts;
  for (size_t i = 0; i < first.size(); ++i) {
    parts.push_back(
        set.bytes(byte_range(static_cast<uint8_t>(first[i]), static_cast<uint8_t>(last[i]))));
  }
  return set.concat(parts);
}

// Splits the range into parts and appends an expression for each. Within a part, all characters
// have the same number of bytes, and the bytes behind the first that differs take all of their
// values.
void add_utf8_range(RegexSet& set, char32_t first, char32_t last, std::vector<RegexId>* out) {
  for (char32_t most : {char32_t{0x7f}, char32_t{0x7ff}, char32_t{0xffff}}) {
    if (first <= most && most < last) {
      add_utf8_range(set, first, most, out);
      add_utf8_range(set, most + 1, last, out);
      return;
    }
  }
  for (uint32_t bits : {6u, 12u, 18u}) {
    if (first < 0x80) break;
    char32_t low = (char32_t{1} << bits) - 1;
    if ((first | low) == (last | low)) continue;
    if ((first & low) != 0) {
      add_utf8_range(set, first, first | low, out);
      add_utf8_range(set, (first | low) + 1, last, out);
      return;
    }
    if ((last & low) != low) {
      add_utf8_range(set, first, (last & ~low) - 1, out);
      add_utf8_range(set, last & ~low, last, out);
      return;
    }
  }
  std::string first_bytes, last_bytes;
  utf8_append(first_bytes, first);
  utf8_append(last_bytes, last);
  out->push_back(byte_ranges(set, first_bytes, last_bytes));
}

}  // namespace

CodePoints::CodePoints(std::initializer_list<CodePointRange> ranges) {
  for (const CodePointRange& range : ranges) add(range.first, range.last);
}

CodePoints CodePoints::all() { return {{0, kLastCodePoint}}; }

std::optional<CodePoints> CodePoints::category(std::string_view name) {
  if (name == "Any") return all();
  if (name == "ASCII") return CodePoints{{0, 0x7f}};
  if (name == "Assigned") return collect_category("Cn").complement();
  for (const CategoryName& known : kLongNames) {
    if (name == known.name) name = known.short_name;
  }
  if (std::ranges::find(kShortNames, name) == std::end(kShortNames)) return std::nullopt;
  return collect_category(name);
}

void CodePoints::add(char32_t first, char32_t last) {
  if (first <= kSurrogates.last && last >= kSurrogates.first) {
    if (first < kSurrogates.first) add(first, kSurrogates.first - 1);
    if (last > kSurrogates.last) add(kSurrogates.last + 1, last);
    return;
  }
  auto touches = [&](const CodePointRange& range) {
    return range.last + 1 >= first && range.first <= last + 1;
  };
  auto begin = std::ranges::find_if(
      ranges_, [&](const CodePointRange& range) { return range.last + 1 >= first; });
  auto end = begin;
  for (; end != ranges_.end() && touches(*end); ++end) {
    first = std::min(first, end->first);
    last = std::max(last, end->last);
  }
  begin = ranges_.erase(begin, end);
  ranges_.insert(begin, {first, last});
}

void CodePoints::add(const CodePoints& other) {
  for (const CodePointRange& range : other.ranges_) add(range.first, range.last);
}

CodePoints CodePoints::complement() const {
  CodePoints result;
  char32_t next = 0;
  for (const CodePointRange& range : ranges_) {
    if (range.first > next) result.add(next, range.first - 1);
    next = range.last + 1;
  }
  if (next <= kLastCodePoint) result.add(next, kLastCodePoint);
  return result;
}

CodePoints CodePoints::intersection(const CodePoints& other) const {
  CodePoints outside = complement();
  outside.add(other.complement());
  return outside.complement();
}

bool CodePoints::contains(char32_t code_point) const {
  return std::ranges::any_of(ranges_, [&](const CodePointRange& range) {
    return range.first <= code_point && code_point <= range.last;
  });
}

RegexId utf8_regex(RegexSet& set, const CodePoints& points) {
  std::vector<RegexId> parts;
  for (const CodePointRange& range : points.ranges()) {
    add_utf8_range(set, range.first, range.last, &parts);
  }
  return set.any_of(parts);
}

}  // namespace hearth
