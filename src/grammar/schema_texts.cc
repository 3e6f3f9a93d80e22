#include "grammar/schema_texts.h"

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "grammar/regex_parser.h"
#include "grammar/schema_multiples.h"

namespace hearth {
namespace {

// The most derivatives for deciding whether an expression is empty.
constexpr uint64_t kEmptyWork = 10'000;
constexpr size_t kMaxSearchedTexts = 1'000;  // beginnings of texts that search_texts() may follow

}  // namespace

SchemaTexts::SchemaTexts(RegexSet& set, bool raw) : set_(set), spelling_(set, raw) {
  digit_ = digits('0', '9');
  minus_ = set_.optional(set_.literal("-"));
  whole_ = set_.any_of(
      {set_.literal("0"), set_.concat({digits('1', '9'), set_.repeat(digit_, 0, kNoLimit)})});
  const RegexId point = set_.literal(".");
  fraction_ = set_.optional(set_.concat({point, set_.repeat(digit_, 1, kNoLimit)}));
  zero_fraction_ = set_.optional(set_.concat({point, set_.repeat(set_.literal("0"), 1, kNoLimit)}));
  magnitude_ = set_.concat({whole_, fraction_});
  plain_number_ = set_.concat({minus_, magnitude_});
  const RegexId letter = set_.any_of({set_.literal("e"), set_.literal("E")});
  const RegexId sign = set_.any_of({set_.empty(), set_.literal("+"), set_.literal("-")});
  const RegexId exponent = set_.concat({letter, sign, set_.repeat(digit_, 1, kNoLimit)});
  number_ = set_.concat({plain_number_, set_.optional(exponent)});
  any_string_ = set_.repeat(spelling_.any_character(), 0, kNoLimit);
  lengths_.emplace(any_string_, std::pair{uint64_t{0}, kNoLimit});
}

RegexId SchemaTexts::digits(char first, char last) {
  if (first > last) return nothing();
  return set_.bytes(byte_range(static_cast<uint8_t>(first), static_cast<uint8_t>(last)));
}

RegexId SchemaTexts::both(RegexId a, RegexId b) {
  if (a == b) return a;
  auto counts = lengths_.find(a);
  auto others = lengths_.find(b);
  if (counts != lengths_.end() && others != lengths_.end()) {
    return lengths(std::max(counts->second.first, others->second.first),
                   std::min(counts->second.second, others->second.second));
  }
  // Each expression of numbers lies within number_, and each of strings within any_string_.
  if (a == any_string_ || a == number_) return b;
  if (b == any_string_ || b == number_) return a;
  return set_.all_of({a, b});
}

RegexId SchemaTexts::either(RegexId a, RegexId b) {
  const RegexId some[] = {a, b};
  return any_of(some);
}

RegexId SchemaTexts::any_of(std::span<const RegexId> some) {
  for (RegexId regex : some) {
    if (regex == any_string_ || regex == number_) return regex;
  }
  return set_.any_of(some);
}

RegexId SchemaTexts::without(RegexId a, RegexId b) {
  if (b == nothing()) return a;
  if (a == b || b == any_string_ || b == number_) return nothing();
  return set_.all_of({a, set_.complement(b)});
}

bool SchemaTexts::matches(RegexId strings, std::string_view text) {
  if (strings == any_string_) return true;
  return set_.matches(strings, spelling_.spell(text));
}

bool SchemaTexts::is_empty(RegexId regex) {
  auto [known, added] = empty_.emplace(regex, false);
  if (!added) return known->second;
  const uint64_t all = set_.work_left();
  const uint64_t some = std::min(all, kEmptyWork);
  set_.limit_work(some);
  try {
    known->second = set_.is_nothing(regex);
  } catch (const Error&) {  // undecided counts as not empty
  }
  set_.limit_work(all - some + set_.work_left());
  return known->second;
}

RegexId SchemaTexts::integer(bool with_point) {
  return set_.concat({minus_, whole_, with_point ? zero_fraction_ : set_.empty()});
}

RegexId SchemaTexts::equal_to(const Decimal& number) {
  const RegexId sign = number.is_zero()  ? minus_
                       : number.negative ? set_.literal("-")
                                         : set_.empty();
  const RegexId whole = set_.literal(number.whole.empty() ? "0" : number.whole);
  if (number.fraction.empty()) return set_.concat({sign, whole, zero_fraction_});
  return set_.concat({sign, whole, set_.literal("." + number.fraction),
                      set_.repeat(set_.literal("0"), 0, kNoLimit)});
}

// Matches magnitudes whose whole part is above the bound's; after an equal whole part,
// `behind_equal` follows.
RegexId SchemaTexts::whole_above(const Decimal& bound, RegexId behind_equal) {
  const std::string& whole = bound.whole;
  const size_t size = whole.size();
  const RegexId equal = set_.literal(whole.empty() ? "0" : whole);
  std::vector<RegexId> all{
      set_.concat({equal, behind_equal}),
      set_.concat({digits('1', '9'), set_.repeat(digit_, size, kNoLimit), fraction_})};
  for (size_t i = 0; i < size; ++i) {
    const RegexId greater = digits(static_cast<char>(whole[i] + 1), '9');
    const size_t behind = size - i - 1;
    all.push_back(set_.concat({set_.literal(whole.substr(0, i)), greater,
                               set_.repeat(digit_, behind, behind), fraction_}));
  }
  return set_.any_of(all);
}

RegexId SchemaTexts::magnitude_above(const Decimal& bound, bool or_equal) {
  const RegexId some_digits = set_.repeat(digit_, 0, kNoLimit);
  const RegexId zeros = set_.repeat(set_.literal("0"), 0, kNoLimit);
  const std::string& fraction = bound.fraction;
  const RegexId same = set_.literal("." + fraction);
  // A fraction is larger if the same digits are followed by more, of which one is not 0, or if the
  // first digit that differs is larger.
  std::vector<RegexId> all{set_.concat({same, zeros, digits('1', '9'), some_digits})};
  for (size_t i = 0; i < fraction.size(); ++i) {
    all.push_back(set_.concat({set_.literal("." + fraction.substr(0, i)),
                               digits(static_cast<char>(fraction[i] + 1), '9'), some_digits}));
  }
  if (or_equal) all.push_back(fraction.empty() ? zero_fraction_ : set_.concat({same, zeros}));
  return whole_above(bound, set_.any_of(all));
}

RegexId SchemaTexts::above(const Decimal& bound, bool or_equal) {
  const RegexId minus = set_.literal("-");
  if (bound.negative) {  // all numbers that are not further from 0
    const Decimal size{false, bound.whole, bound.fraction};
    const RegexId nearer = without(magnitude_, magnitude_above(size, !or_equal));
    return set_.any_of({magnitude_, set_.concat({minus, nearer})});
  }
  const RegexId positive = magnitude_above(bound, or_equal);
  if (!bound.is_zero() || !or_equal) return positive;
  return set_.any_of({positive, set_.concat({minus, set_.literal("0"), zero_fraction_})});
}

RegexId SchemaTexts::below(const Decimal& bound, bool or_equal) {
  return without(plain_number_, above(bound, !or_equal));
}

std::optional<RegexId> SchemaTexts::multiple_of(const Decimal& divisor) {
  std::string all = divisor.whole + divisor.fraction;
  all.erase(0, all.find_first_not_of('0'));
  if (all.size() > 9 || divisor.fraction.size() > kMaxPlaces) return std::nullopt;
  const uint64_t number = std::stoull(all);
  if (number >= kMaxDivisor) return std::nullopt;
  const auto places = static_cast<uint32_t>(divisor.fraction.size());
  return set_.all_of({plain_number_, set_.concat({minus_, multiples_of(set_, number, places)})});
}

RegexId SchemaTexts::one_of(std::span<const std::string_view> texts) {
  std::vector<RegexId> all;
  for (std::string_view text : texts) all.push_back(one(text));
  return set_.any_of(all);
}

RegexId SchemaTexts::lengths(uint64_t least, uint64_t most) {
  if (least > most) return nothing();
  const RegexId counted = set_.repeat(spelling_.any_character(), least, most);
  lengths_.emplace(counted, std::pair{least, most});
  return counted;
}

RegexId SchemaTexts::pattern_text(std::string_view pattern, bool search) {
  return parse_pattern(set_, pattern, {.search = search, .spell = [&](const CodePoints& points) {
                                         return spelling_.spelled(points);
                                       }});
}

// Visits the matching texts of these characters, the shortest first, until take(text, regex)
// returns false.
template <typename Take>
void SchemaTexts::search_texts(RegexId regex, std::string_view characters, bool spell, Take take) {
  std::vector<std::pair<std::string, RegexId>> met{{"", regex}};
  for (size_t at = 0; at < met.size() && met.size() < kMaxSearchedTexts; ++at) {
    if (set_.nullable(met[at].second) && !take(met[at].first)) return;
    for (char character : characters) {
      RegexId rest = met[at].second;
      const std::string_view text(&character, 1);
      for (char byte : spell ? spelling_.spell(text) : std::string(text)) {
        rest = set_.derive(rest, static_cast<uint8_t>(byte));
      }
      if (rest != nothing()) met.emplace_back(met[at].first + character, rest);
    }
  }
}

std::optional<std::vector<std::string>> SchemaTexts::few_strings(RegexId strings) {
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte) bytes += static_cast<char>(byte);
  std::vector<std::string> found;
  search_texts(strings, bytes, true, [&](const std::string& text) {
    found.push_back(text);
    return found.size() <= kFew;
  });
  const std::vector<std::string_view> views(found.begin(), found.end());
  if (found.size() > kFew || !is_empty(without(strings, one_of(views)))) return std::nullopt;
  return found;
}

std::optional<std::vector<std::string>> SchemaTexts::few_numbers(RegexId numbers) {
  std::vector<std::string> found;
  std::vector<Decimal> known;
  RegexId others = numbers;
  search_texts(numbers, "-0123456789.", false, [&](const std::string& text) {
    const Decimal number = parse_decimal(text);
    if (std::ranges::find(known, number) != known.end()) return true;
    known.push_back(number);
    found.push_back(text);
    others = without(others, equal_to(number));
    return found.size() <= kFew && !is_empty(others);
  });
  if (found.size() > kFew || !is_empty(others)) return std::nullopt;
  return found;
}

RegexId SchemaTexts::quoted(RegexId strings) {
  const RegexId quote = set_.literal("\"");
  return set_.concat({quote, strings, quote});
}

}  // namespace hearth
