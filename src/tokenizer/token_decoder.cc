#include "tokenizer/token_decoder.h"

#include <algorithm>

#include "base/error.h"
#include "base/printable.h"
#include "base/utf8.h"
#include "tokenizer/byte_level.h"
#include "tokenizer/spm_encoder.h"

namespace hearth {

namespace {

constexpr size_t kMaxTokenBytes = size_t{1} << 16;

std::string strip(std::string text, const StripStep& step) {
  const std::string& c = step.character;
  for (uint32_t i = 0; i < step.begin && text.starts_with(c); ++i) text.erase(0, c.size());
  for (uint32_t i = 0; i < step.end && text.ends_with(c); ++i) text.resize(text.size() - c.size());
  return text;
}

std::string spaces_for(std::string_view text, const std::string& mark) {
  std::string out;
  while (!text.empty()) {
    const bool marked = text.starts_with(mark);
    out += marked ? ' ' : text[0];
    text.remove_prefix(marked ? mark.size() : 1);
  }
  return out;
}

}  // namespace

TokenDecoder::TokenDecoder(const Vocab& vocab) {
  const TextRules& rules = *vocab.rules;
  std::vector<DecodeStep> steps = rules.decode;
  auto is_byte_level = [](const CutStep& step) {
    return std::holds_alternative<ByteLevelStep>(step);
  };
  if (steps.empty() && std::ranges::any_of(rules.cut, is_byte_level)) {
    steps.emplace_back(SpellBytesStep{});
  }
  bool fused = false;
  for (const DecodeStep& step : steps) {
    if (const auto* stripped = std::get_if<StripStep>(&step); stripped != nullptr && fused) {
      stripped_ = stripped->character;
      stripped_begin_ = stripped->begin;
      stripped_end_ = stripped->end;
      continue;
    }
    if (fused && !std::holds_alternative<FuseStep>(step)) {
      fail(ErrorCode::kUnsupported,
           "{}: the decoder has a step after Fuse; there this version supports only Strip",
           vocab.source);
    }
    if (const auto* mark = std::get_if<SpaceMarkStep>(&step)) stripped_begin_ = mark->drop_first;
    spells_bytes_ = spells_bytes_ || std::holds_alternative<SpellBytesStep>(step);
    fused = fused || spells_bytes_ || std::holds_alternative<FuseStep>(step);
    Step made{step, {}};
    if (const auto* replaced = std::get_if<ReplaceStep>(&step)) {
      made.pattern.emplace_back(replaced->pattern, vocab.source);
    }
    steps_.push_back(std::move(made));
  }
  try_all(vocab);
}

// Decodes every token once, to find tokens that fail: a pattern may take too many steps on a token,
// and each replacing step may make it longer.
void TokenDecoder::try_all(const Vocab& vocab) const {
  const bool safe = std::ranges::none_of(steps_, [](const Step& step) {
    const auto* replaced = std::get_if<ReplaceStep>(&step.what);
    return replaced != nullptr &&
           (replaced->pattern.is_regex || replaced->content.size() > replaced->pattern.text.size());
  });
  if (safe) return;
  for (const std::string& token : vocab.tokens) {
    try {
      bytes(token);
    } catch (const Error& error) {
      fail(ErrorCode::kFile, "{}: token '{}' cannot be decoded: {}", vocab.source, printable(token),
           error.what());
    }
  }
}

std::string TokenDecoder::apply(const Step& step, std::string text,
                                std::optional<MatchMemory>* memory) const {
  if (const auto* replaced = std::get_if<ReplaceStep>(&step.what)) {
    if (!memory->has_value()) memory->emplace();
    if (!is_well_formed(text)) return text;
    std::string out;
    size_t done = 0;
    for (Pattern::Cursor at; step.pattern[0].next(text, &at, **memory);) {
      out.append(text, done, at.begin - done);
      out += replaced->content;
      done = at.end;
      if (out.size() > kMaxTokenBytes) {
        fail(ErrorCode::kFile, "its steps expand it to more than {} bytes", kMaxTokenBytes);
      }
    }
    return out.append(text, done);
  }
  if (std::holds_alternative<SpellBytesStep>(step.what)) return byte_level_decode(text);
  if (std::holds_alternative<ByteFallbackStep>(step.what)) {
    const int value = byte_token_value(text);
    return value < 0 ? text : std::string(1, static_cast<char>(value));
  }
  if (const auto* stripped = std::get_if<StripStep>(&step.what)) {
    return strip(std::move(text), *stripped);
  }
  if (const auto* mark = std::get_if<SpaceMarkStep>(&step.what))
    return spaces_for(text, mark->mark);
  return text;
}

std::string TokenDecoder::bytes(std::string_view token) const {
  std::string text(token);
  std::optional<MatchMemory> memory;
  for (const Step& step : steps_) text = apply(step, std::move(text), &memory);
  return text;
}

}  // namespace hearth
