#include "chat/turn_reader.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/error.h"
#include "base/utf8_stream.h"
#include "chat/call_reader.h"
#include "chat/turn_markup.h"
#include "chat/turn_text.h"

namespace hearth {
namespace {

// The tags of text that markup may follow. If a byte may be text or markup, the next byte decides.
constexpr uint32_t kTexts = tag_bit(TurnTag::kContent) | tag_bit(TurnTag::kAnswer) |
                            tag_bit(TurnTag::kReasoning) | tag_bit(TurnTag::kValue);

TurnTag lowest(uint32_t tags) { return static_cast<TurnTag>(std::countr_zero(tags)); }

// Returns that tag of a byte's possible tags which fits the next byte's tags.
TurnTag fitting(uint32_t tags, uint32_t next) {
  if ((tags & next) != 0) return lowest(tags & next);
  return lowest((tags & ~kTexts) != 0 ? tags & ~kTexts : tags);
}

bool is_free(TurnTag tag) { return (tag_bit(tag) & kTexts) != 0 && tag != TurnTag::kValue; }

}  // namespace

struct TurnReader::State {
  // A byte, or a control token's text, whose tag is not decided yet.
  struct Part {
    std::string text;
    bool control;
    uint32_t tags;
  };

  explicit State(std::shared_ptr<const TurnLanguage> turn)
      : language(std::move(turn)),
        matcher(*language->begin),
        content(TurnEvent::Kind::kContent, language->cuts.content),
        reasoning(TurnEvent::Kind::kReasoning, language->cuts.reasoning),
        calls(language->format, language->cuts) {}

  std::string shown(int32_t token) const;
  void take(Part part);
  void settle(uint32_t next);
  void give(const Part& part, TurnTag tag);
  void leave(TurnTag next);
  void lose(int32_t token);
  void end();

  std::shared_ptr<const TurnLanguage> language;
  Matcher matcher;
  bool lost = false;  // the text has left the language
  std::vector<Part> waiting;
  TurnTag zone = TurnTag::kStructure;
  TurnText content, reasoning;
  CallReader calls;
  std::string markup;  // markup since the last text, for a call that has not begun
  uint64_t reasoning_tokens = 0;
  std::vector<TurnEvent>* events = nullptr;
};

TurnReader::TurnReader(std::shared_ptr<const TurnLanguage> language)
    : state_(std::make_unique<State>(std::move(language))) {}
TurnReader::~TurnReader() = default;
TurnReader::TurnReader(TurnReader&&) noexcept = default;

bool TurnReader::in_content() const {
  return state_->lost || state_->zone == TurnTag::kContent || state_->zone == TurnTag::kAnswer;
}
uint32_t TurnReader::calls() const { return state_->calls.count(); }
uint64_t TurnReader::reasoning_tokens() const { return state_->reasoning_tokens; }

// Returns a token's text in the format's markup, for tokens that have no text; else "".
std::string TurnReader::State::shown(int32_t token) const {
  for (const MarkerToken& marker : language->markers) {
    if (marker.id == token) return marker.text;
  }
  return {};
}

void TurnReader::take(int32_t token, std::vector<TurnEvent>* events) {
  State& state = *state_;
  state.events = events;
  const VocabularyTrie& vocabulary = state.matcher.vocabulary();
  if (!vocabulary.has(token)) return;
  bool taken = false;
  try {
    taken = !state.lost && state.matcher.accept(token);
  } catch (const Error&) {  // the memory limit: all further text is content
  }
  if (!taken) {
    if (vocabulary.role(token) != TokenRole::kEnd) state.lose(token);
    return;
  }
  const std::span<const uint32_t> tags = state.matcher.tags();
  const bool reasons =
      std::ranges::any_of(tags, [](uint32_t bits) { return bits == tag_bit(TurnTag::kReasoning); });
  if (reasons) ++state.reasoning_tokens;
  if (state.matcher.was_control()) {
    state.take({state.shown(token), true, tags[0]});
    return;
  }
  for (size_t i = 0; i < tags.size(); ++i) {
    state.take({std::string(1, vocabulary.bytes(token)[i]), false, tags[i]});
  }
}

void TurnReader::State::take(Part part) {
  if (std::popcount(part.tags) > 1) {
    waiting.push_back(std::move(part));
    return;
  }
  settle(part.tags);
  give(part, lowest(part.tags));
}

void TurnReader::State::settle(uint32_t next) {
  for (const Part& part : std::exchange(waiting, {})) give(part, fitting(part.tags, next));
}

void TurnReader::State::give(const Part& part, TurnTag tag) {
  const bool behind_reasoning = zone == TurnTag::kReasoning;
  if (tag != zone) leave(tag);
  zone = tag;
  switch (tag) {
    case TurnTag::kContent:
    case TurnTag::kAnswer:
      markup.clear();
      content.push(part.text, part.control, events);
      break;
    case TurnTag::kReasoning:
      markup.clear();
      reasoning.push(part.text, part.control, events);
      break;
    default:
      if (!behind_reasoning) markup += part.text;
      calls.push(part.text, part.control, tag, events);
      if (calls.announced()) markup.clear();
  }
}

// Ends the text that comes before markup, once the markup is complete.
void TurnReader::State::leave(TurnTag next) {
  if (zone == TurnTag::kContent && !is_free(next)) content.cut(events);
  if (zone == TurnTag::kReasoning) {
    reasoning.cut(events);
    reasoning.end_block();
    content.end_block();
  }
  if (next == TurnTag::kName) content.end_block();
  if (is_free(next)) calls.close(events);
}

// The text has left the language. So all that follows is content, and so is the markup that was
// held back for a call that has not begun.
void TurnReader::State::lose(int32_t token) {
  const VocabularyTrie& vocabulary = matcher.vocabulary();
  if (!lost) {
    for (const Part& part : std::exchange(waiting, {})) give(part, lowest(part.tags));
    calls.abandon();
    leave(TurnTag::kContent);
    content.push(std::exchange(markup, {}), false, events);
    zone = TurnTag::kContent;
    lost = true;
  }
  const bool text = vocabulary.role(token) == TokenRole::kText;
  content.push(text ? std::string(vocabulary.bytes(token)) : shown(token), !text, events);
}

void TurnReader::end(std::vector<TurnEvent>* events) {
  state_->events = events;
  state_->end();
}

void TurnReader::State::end() {
  for (const Part& part : std::exchange(waiting, {})) {
    give(part, lowest((part.tags & kTexts) != 0 ? part.tags & kTexts : part.tags));
  }
  reasoning.end(events);
  content.end(events);
  if (!lost && (matcher.may_end() || matcher.ended())) calls.close(events);
  calls.end(events);
}

}  // namespace hearth
