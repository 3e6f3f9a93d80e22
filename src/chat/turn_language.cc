#include "chat/turn_language.h"

#include <algorithm>
#include <array>

#include "chat/turn_grammar.h"

namespace hearth {
namespace {

// Whether a token's text looks like markup, such as "<tool_call>".
bool looks_like_markup(std::string_view text) {
  constexpr std::array<std::string_view, 3> kFirst = {"<", "[", "｜"}, kLast = {">", "]", "｜"};
  auto begins = [&](std::string_view mark) { return text.starts_with(mark); };
  auto ends = [&](std::string_view mark) { return text.ends_with(mark); };
  return text.size() > 2 && std::ranges::any_of(kFirst, begins) && std::ranges::any_of(kLast, ends);
}

std::array<std::string_view, 19> markers_of(const TurnFormat& format) {
  static const CallFormat kNone;
  const CallFormat& calls = format.calls ? *format.calls : kNone;
  return {format.reasoning_begin,
          format.reasoning_end,
          format.content_begin,
          format.content_end,
          calls.section_begin,
          calls.separator,
          calls.section_end,
          calls.begin,
          calls.name_end,
          calls.end,
          calls.id_begin,
          calls.id_end,
          calls.parameter,
          calls.key_end,
          calls.value_end,
          calls.json_key_end,
          calls.quote,
          format.harmony ? "<|start|><|channel|><|message|>" : "",
          format.harmony ? "<|end|><|constrain|><|call|><|return|>" : ""};
}

}  // namespace

std::vector<MarkerToken> marker_tokens(const Tokenizer& tokenizer) {
  std::vector<MarkerToken> tokens;
  for (size_t i = 0; i < tokenizer.size(); ++i) {
    const auto id = static_cast<int32_t>(i);
    const std::string& text = tokenizer.token_text(id);
    const TokenType type = tokenizer.vocab().types[i];
    const bool taken = tokenizer.is_control(id) || tokenizer.is_eog(id) ||
                       (type == TokenType::kUserDefined && looks_like_markup(text));
    if (taken && !text.empty()) tokens.push_back({text, id});
  }
  return tokens;
}

TurnLanguage compile_turn(const TurnFormat& format, const TurnOrder& order,
                          std::vector<MarkerToken> markers,
                          std::shared_ptr<const VocabularyTrie> vocabulary) {
  TurnLanguage language;
  language.format = format;
  for (const MarkerToken& marker : markers) {
    const bool used = std::ranges::any_of(markers_of(format), [&](std::string_view text) {
      return text.find(marker.text) != std::string_view::npos;
    });
    if (used) language.markers.push_back(marker);
  }
  auto grammar = std::make_unique<TurnGrammar>(format, order, language.markers, *vocabulary);
  std::shared_ptr<const Grammar> built;
  try {
    built = grammar->build();
  } catch (const TurnTooComplex& error) {
    const bool lenient =
        std::ranges::any_of(order.tools, [](const Tool& tool) { return !tool.strict; });
    if (!grammar->calls_tools() || !lenient) throw;
    // Relaxes all schemas of tools that are not strict, as the grammar with them takes too much
    // work.
    language.relaxed.emplace_back(error.what());
    grammar = std::make_unique<TurnGrammar>(format, order, language.markers, *vocabulary, false);
    built = grammar->build();
  }
  language.tools = grammar->calls_tools();
  language.bound = grammar->bound();
  language.cuts = grammar->cuts();
  language.stop_tags = tag_bit(TurnTag::kContent);
  for (const std::string& sentence : grammar->relaxed()) language.relaxed.push_back(sentence);
  language.begin = std::make_shared<const Matcher>(std::move(built), std::move(vocabulary));
  return language;
}

}  // namespace hearth
