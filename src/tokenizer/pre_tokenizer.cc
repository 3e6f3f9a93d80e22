#include "tokenizer/pre_tokenizer.h"

#include <utility>

#include "base/error.h"
#include "tokenizer/byte_level.h"
#include "tokenizer/cut_behavior.h"
#include "tokenizer/encoder.h"
#include "tokenizer/newer_characters.h"

namespace hearth {

namespace {

constexpr std::string_view kGpt2 =
    R"re('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)re";

// Returns the pattern that splits the text; none where the step has none.
std::optional<TextPattern> pattern_of(const CutStep& step) {
  if (const auto* split = std::get_if<SplitStep>(&step)) return split->pattern;
  if (const auto* mark = std::get_if<MetaspaceStep>(&step)) {
    if (mark->split) return TextPattern{mark->mark, false};
  }
  if (const auto* bytes = std::get_if<ByteLevelStep>(&step)) {
    if (bytes->use_regex) return TextPattern{std::string(kGpt2)};
  }
  return std::nullopt;
}

// Throws where steps have made too many bytes: a step may make several bytes of each byte.
void check_size(std::span<const std::string_view> pieces) {
  size_t bytes = 0;
  for (std::string_view piece : pieces) bytes += piece.size();
  if (bytes <= kMaxTextBytes) return;
  fail(ErrorCode::kRequest,
       "the tokenizer's steps expand the text to more than {} bytes: shorten it", kMaxTextBytes);
}

std::string with_marks(std::string_view text, const MetaspaceStep& step, bool at_start) {
  std::string marked;
  for (char c : text) {
    if (c == ' ') {
      marked += step.mark;
    } else {
      marked += c;
    }
  }
  const bool prepend =
      step.prepend == PrependScheme::kAlways || (step.prepend == PrependScheme::kFirst && at_start);
  if (prepend && !marked.starts_with(step.mark)) marked.insert(0, step.mark);
  return marked;
}

}  // namespace

PreTokenizer::PreTokenizer(const PreTokenizerRule& rule) {
  for (std::string_view pattern : rule.patterns) {
    add(SplitStep{.pattern = {std::string(pattern)}}, "hearth");
  }
  spells_bytes_ = true;
}

PreTokenizer::PreTokenizer(std::span<const CutStep> steps, std::string_view file) {
  for (const CutStep& step : steps) add(step, file);
  if (steps_.empty() || !std::holds_alternative<ByteLevelStep>(steps_.back().what)) return;
  spells_bytes_ = true;
  steps_.back().spell = false;
}

void PreTokenizer::add(const CutStep& step, std::string_view file) {
  Step made{step, std::nullopt, std::holds_alternative<ByteLevelStep>(step)};
  if (auto pattern = pattern_of(step)) {
    made.literal = !pattern->is_regex;
    made.pattern.emplace(*pattern, file);
  }
  steps_.push_back(std::move(made));
}

void PreTokenizer::cut(const Step& step, std::string_view piece, MatchMemory& memory,
                       std::vector<std::string_view>& out) const {
  if (!step.pattern) {
    if (!piece.empty()) out.push_back(piece);
    return;
  }
  CutBehavior behavior = CutBehavior::kIsolated;
  bool invert = false;
  if (const auto* split = std::get_if<SplitStep>(&step.what)) {
    behavior = split->behavior;
    invert = split->invert;
  } else if (std::holds_alternative<MetaspaceStep>(step.what)) {
    behavior = CutBehavior::kMergedWithNext;
  }
  // Matches are found in the text with stand-ins, and lie at the same bytes of the piece.
  std::string made;
  const std::string_view seen = step.literal ? piece : with_stand_ins(piece, &made);
  const size_t first = out.size();
  cut_text(*step.pattern, behavior, invert, seen, memory, out);
  if (seen.data() == piece.data()) return;
  for (size_t i = first; i < out.size(); ++i) {
    out[i] = piece.substr(static_cast<size_t>(out[i].data() - seen.data()), out[i].size());
  }
}

std::string_view PreTokenizer::apply(const Step& step, std::string_view piece, bool at_start,
                                     MatchMemory& memory, TextPieces& out) const {
  if (const auto* bytes = std::get_if<ByteLevelStep>(&step.what)) {
    if (bytes->add_prefix_space && !piece.starts_with(' ')) {
      piece = out.made.emplace_back(" " + std::string(piece));
    }
  } else if (const auto* mark = std::get_if<MetaspaceStep>(&step.what)) {
    piece = out.made.emplace_back(with_marks(piece, *mark, at_start));
  }
  const size_t first = out.pieces.size();
  cut(step, piece, memory, out.pieces);
  if (!step.spell) return piece;
  const bool first_stays = first < out.pieces.size() && out.pieces[first].data() == piece.data();
  for (size_t i = first; i < out.pieces.size(); ++i) {
    out.pieces[i] = out.made.emplace_back(byte_level_encode(out.pieces[i]));
  }
  return first_stays ? out.pieces[first] : piece;
}

void PreTokenizer::split(std::string_view text, bool at_start, MatchMemory& memory,
                         TextPieces& pieces) const {
  pieces.made.clear();
  pieces.pieces.clear();
  if (text.empty()) return;
  pieces.pieces.push_back(text);
  std::vector<std::string_view> before;
  for (const Step& step : steps_) {
    const size_t made = pieces.made.size();
    std::swap(before, pieces.pieces);
    pieces.pieces.clear();
    bool still_at_start = false;
    for (size_t i = 0; i < before.size(); ++i) {
      const bool start = at_start && i == 0;
      const std::string_view whole = apply(step, before[i], start, memory, pieces);
      if (start) {
        still_at_start = !pieces.pieces.empty() && pieces.pieces[0].data() == whole.data();
      }
    }
    at_start = still_at_start;
    if (pieces.made.size() > made) check_size(pieces.pieces);
  }
}

}  // namespace hearth
