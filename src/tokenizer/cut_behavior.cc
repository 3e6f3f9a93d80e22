#include "tokenizer/cut_behavior.h"

#include <algorithm>

namespace hearth {

namespace {

// A match, or the text between two matches.
struct Stretch {
  size_t begin, end;
  bool match;
};

std::vector<Stretch> stretches_of(const Pattern& pattern, bool invert, std::string_view text,
                                  MatchMemory& memory) {
  std::vector<Stretch> stretches;
  size_t done = 0;
  for (Pattern::Cursor at; pattern.next(text, &at, memory);) {
    if (at.begin != done) stretches.push_back({done, at.begin, invert});
    stretches.push_back({at.begin, at.end, !invert});
    done = at.end;
  }
  if (done != text.size()) stretches.push_back({done, text.size(), invert});
  return stretches;
}

// Joins each stretch with the one before it where `joins` is true for the two.
template <typename Joins>
std::vector<Stretch> joined(const std::vector<Stretch>& stretches, Joins joins) {
  std::vector<Stretch> out;
  bool previous = false;
  for (const Stretch& stretch : stretches) {
    if (!out.empty() && joins(stretch.match, previous)) {
      out.back().end = stretch.end;
    } else {
      out.push_back(stretch);
    }
    previous = stretch.match;
  }
  return out;
}

// Joins each match with the text behind it; of several matches in a row, it joins only the last
// one.
std::vector<Stretch> joined_with_next(const std::vector<Stretch>& stretches) {
  std::vector<Stretch> out;
  bool behind = false;
  for (size_t i = stretches.size(); i-- > 0;) {
    if (!out.empty() && stretches[i].match && !behind) {
      out.back().begin = stretches[i].begin;
    } else {
      out.push_back(stretches[i]);
    }
    behind = stretches[i].match;
  }
  std::ranges::reverse(out);
  return out;
}

// Appends the pieces of the behaviour that files have most often, isolated matches; makes no list
// of stretches.
void isolate(const Pattern& pattern, std::string_view text, MatchMemory& memory,
             std::vector<std::string_view>& pieces) {
  size_t done = 0;
  for (Pattern::Cursor at; pattern.next(text, &at, memory);) {
    if (at.begin > done) pieces.push_back(text.substr(done, at.begin - done));
    if (at.end > at.begin) pieces.push_back(text.substr(at.begin, at.end - at.begin));
    done = at.end;
  }
  if (done < text.size()) pieces.push_back(text.substr(done));
}

}  // namespace

void cut_text(const Pattern& pattern, CutBehavior behavior, bool invert, std::string_view text,
              MatchMemory& memory, std::vector<std::string_view>& pieces) {
  if (behavior == CutBehavior::kIsolated) return isolate(pattern, text, memory, pieces);
  std::vector<Stretch> stretches = stretches_of(pattern, invert, text, memory);
  switch (behavior) {
    case CutBehavior::kIsolated:
      break;
    case CutBehavior::kRemoved:
      std::erase_if(stretches, [](const Stretch& stretch) { return stretch.match; });
      break;
    case CutBehavior::kContiguous:
      stretches = joined(stretches, [](bool match, bool previous) { return match == previous; });
      break;
    case CutBehavior::kMergedWithPrevious:
      stretches = joined(stretches, [](bool match, bool previous) { return match && !previous; });
      break;
    case CutBehavior::kMergedWithNext:
      stretches = joined_with_next(stretches);
      break;
  }
  for (const Stretch& stretch : stretches) {
    if (stretch.end == stretch.begin) continue;
    pieces.push_back(text.substr(stretch.begin, stretch.end - stretch.begin));
  }
}

}  // namespace hearth
