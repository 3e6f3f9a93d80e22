#include "grammar/regex_parser.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/printable.h"
#include "grammar/pattern_reader.h"

namespace hearth {
namespace {

constexpr uint64_t kMaxRepeated = 1'000'000;
constexpr uint32_t kDeepestGroup = 64;

// The texts of a part of a pattern. [begins][ends] says whether anchors require that the whole text
// begins with this part, and that it ends with it.
using Anchored = std::array<std::array<RegexId, 2>, 2>;

class PatternParser {
 public:
  PatternParser(RegexSet& set, std::string_view pattern, const PatternOptions& options)
      : set_(set), reader_(pattern), options_(options) {}

  RegexId parse() {
    Anchored whole = alternatives(0);
    if (!reader_.done()) fail(ErrorCode::kRequest, "has a \")\" that closes nothing");
    RegexId any = set_.empty();
    if (options_.search) any = set_.repeat(spell(CodePoints::all()), 0, kNoLimit);
    return set_.any_of({set_.concat({any, whole[0][0], any}), set_.concat({whole[1][0], any}),
                        set_.concat({any, whole[0][1]}), whole[1][1]});
  }

 private:
  RegexId spell(const CodePoints& points) {
    return options_.spell ? options_.spell(points) : utf8_regex(set_, points);
  }
  Anchored plain(RegexId regex) const {
    return {{{regex, set_.nothing()}, {set_.nothing(), set_.nothing()}}};
  }
  // Returns empty() if `regex` matches the empty text, else nothing().
  RegexId none_of(RegexId regex) const {
    return set_.nullable(regex) ? set_.empty() : set_.nothing();
  }

  Anchored alternatives(uint32_t depth) {
    if (depth > kDeepestGroup) {
      fail(ErrorCode::kRequest, "has groups nested more than {} deep", kDeepestGroup);
    }
    std::vector<Anchored> ways{sequence(depth)};
    while (reader_.take('|')) ways.push_back(sequence(depth));
    Anchored whole = plain(set_.nothing());
    for (int begins : {0, 1}) {
      for (int ends : {0, 1}) {
        std::vector<RegexId> parts;
        for (const Anchored& way : ways) parts.push_back(way[begins][ends]);
        whole[begins][ends] = set_.any_of(parts);
      }
    }
    return whole;
  }

  Anchored sequence(uint32_t depth) {
    std::vector<Anchored> parts;
    while (!reader_.done() && reader_.peek() != '|' && reader_.peek() != ')') {
      parts.push_back(quantified(depth));
    }
    Anchored whole = plain(set_.empty());
    for (size_t i = parts.size(); i-- > 0;) whole = join(parts[i], whole);
    return whole;
  }

  Anchored join(const Anchored& first, const Anchored& second) {
    Anchored whole = plain(set_.nothing());
    for (int bits = 0; bits < 16; ++bits) {
      int begins1 = bits & 1, ends1 = bits >> 1 & 1, begins2 = bits >> 2 & 1, ends2 = bits >> 3;
      RegexId left = first[begins1][ends1], right = second[begins2][ends2];
      if (begins2 != 0) left = none_of(left);
      if (ends1 != 0) right = none_of(right);
      RegexId& sum = whole[begins1 | begins2][ends1 | ends2];
      sum = set_.any_of({sum, set_.concat({left, right})});
    }
    return whole;
  }

  Anchored quantified(uint32_t depth) {
    Anchored part = atom(depth);
    std::optional<RepeatBounds> bounds = reader_.quantifier();
    if (!bounds) return part;
    uint64_t largest = bounds->most == kNoLimit ? bounds->least : bounds->most;
    if (largest > kMaxRepeated) {
      fail(ErrorCode::kRequest, "repeats something {} times, and at most {} are supported", largest,
           kMaxRepeated);
    }
    if (bounds->least > bounds->most) {
      fail(ErrorCode::kRequest, "has a quantifier whose bounds are in the wrong order");
    }
    bool anchored = part[1][0] + part[0][1] + part[1][1] != set_.nothing();
    if (!anchored) return plain(set_.repeat(part[0][0], bounds->least, bounds->most));
    if (bounds->most > 1) {
      fail(ErrorCode::kRequest, "repeats a group with an anchor, which is not supported");
    }
    if (bounds->most == 0) return plain(set_.empty());
    if (bounds->least == 0) part[0][0] = set_.optional(part[0][0]);
    return part;
  }

  Anchored atom(uint32_t depth) {
    if (reader_.take('^')) {
      return {{{set_.nothing(), set_.nothing()}, {set_.empty(), set_.nothing()}}};
    }
    if (reader_.take('$')) {
      return {{{set_.nothing(), set_.empty()}, {set_.nothing(), set_.nothing()}}};
    }
    if (!reader_.take('(')) return plain(characters());
    reader_.group_kind();
    Anchored inner = alternatives(depth + 1);
    if (!reader_.take(')')) fail(ErrorCode::kRequest, "has a group that is not closed");
    return inner;
  }

  RegexId characters() {
    CodePoints points = reader_.character_set();
    auto key = std::make_pair(points.ranges().size(),
                              points.ranges().empty() ? char32_t{0} : points.ranges()[0].first);
    auto [begin, end] = spelled_.equal_range(key);
    for (auto it = begin; it != end; ++it) {
      if (it->second.first == points) return it->second.second;
    }
    RegexId regex = spell(points);
    spelled_.emplace(key, std::make_pair(std::move(points), regex));
    return regex;
  }

  RegexSet& set_;
  PatternReader reader_;
  const PatternOptions& options_;
  // Expressions of characters spelled so far, by the number of their ranges and the first
  // character.
  std::multimap<std::pair<size_t, char32_t>, std::pair<CodePoints, RegexId>> spelled_;
};

}  // namespace

RegexId parse_pattern(RegexSet& set, std::string_view pattern, const PatternOptions& options) {
  return PatternParser(set, pattern, options).parse();
}

}  // namespace hearth
