#include "chat/call_reader.h"

#include <algorithm>
#include <utility>

#include "chat/turn_text.h"
#include "grammar/json_spelling.h"

namespace hearth {
namespace {

bool is_argument(TurnTag tag) {
  switch (tag) {
    case TurnTag::kJson:
    case TurnTag::kKey:
    case TurnTag::kText:
    case TurnTag::kValue:
    case TurnTag::kQuote:
    case TurnTag::kColon:
    case TurnTag::kWord:
      return true;
    default:
      return false;
  }
}

}  // namespace

// Whether arguments are written as a JSON object.
bool CallReader::has_json() const {
  return format_.harmony || format_.calls->arguments == ArgumentForm::kJson;
}

void CallReader::push(std::string_view text, bool control, TurnTag tag,
                      std::vector<TurnEvent>* events) {
  if (tag != zone_ || (tag == TurnTag::kQuote)) {
    leave(tag, events);
    zone_ = tag;
    enter(tag, events);
  }
  switch (tag) {
    case TurnTag::kName:
      name_ += text;
      if (!format_.harmony && format_.calls->id_place == IdPlace::kAroundName) id_ += text;
      break;
    case TurnTag::kId:
      id_ += text;
      break;
    case TurnTag::kJson:
      arguments(text, events);
      break;
    case TurnTag::kKey:
    case TurnTag::kText:
      arguments(spell_json(text), events);
      break;
    case TurnTag::kValue:
      if (!control) push_value(text, events);
      break;
    case TurnTag::kWord:
      held_ += text;
      break;
    default:
      break;
  }
}

void CallReader::leave(TurnTag next, std::vector<TurnEvent>* events) {
  switch (zone_) {
    case TurnTag::kName:
      name_whole_ = name_whole_ || next != TurnTag::kName;
      break;
    case TurnTag::kKey:
      arguments("\"", events);
      if (format_.calls->arguments == ArgumentForm::kParameters) arguments(": ", events);
      wants_value_ = true;
      break;
    case TurnTag::kValue:
      end_value(events);
      break;
    case TurnTag::kWord:
      end_word(events);
      break;
    default:
      break;
  }
}

void CallReader::enter(TurnTag tag, std::vector<TurnEvent>* events) {
  if (tag == TurnTag::kName) {
    if (name_whole_) close(events);
    open_ = true;
  }
  if (tag == TurnTag::kCallEnd) close(events);
  if (!is_argument(tag)) return;
  if (!announced_) announce(events);
  const bool first = !any_arguments_;
  if (first && !has_json()) arguments("{", events);
  const bool parameter =
      tag == TurnTag::kKey && format_.calls->arguments == ArgumentForm::kParameters;
  if (parameter && wants_value_) arguments("\"\"", events);
  if (parameter && !first) arguments(", ", events);
  if (tag == TurnTag::kKey || tag == TurnTag::kValue || tag == TurnTag::kQuote) {
    arguments("\"", events);
  }
  if (tag == TurnTag::kColon) arguments(": ", events);
  if (tag != TurnTag::kKey) wants_value_ = false;
}

void CallReader::announce(std::vector<TurnEvent>* events) {
  announced_ = true;
  TurnEvent event{.kind = TurnEvent::Kind::kCall, .call = count_++, .text = name_};
  event.id = id_;
  events->push_back(std::move(event));
}

void CallReader::arguments(std::string_view bytes, std::vector<TurnEvent>* events) {
  any_arguments_ = any_arguments_ || !bytes.empty();
  std::string text = utf8_.push(bytes);
  if (text.empty()) return;
  if (!events->empty() && events->back().kind == TurnEvent::Kind::kArguments) {
    events->back().text += text;
  } else {
    events->push_back({.kind = TurnEvent::Kind::kArguments, .call = count_ - 1, .text = text});
  }
}

// Adds bytes of a value. Holds back those that may be the marker that ends the value, with the
// newline before it.
void CallReader::push_value(std::string_view bytes, std::vector<TurnEvent>* events) {
  held_ += bytes;
  size_t kept = begun_at_end(held_, cuts_.value);
  if (cuts_.newline_before_value_end && kept < held_.size() &&
      held_[held_.size() - kept - 1] == '\n') {
    ++kept;
  }
  const std::string ready = held_.substr(0, held_.size() - kept);
  held_.erase(0, ready.size());
  arguments(spell_json(ready), events);
}

void CallReader::end_value(std::vector<TurnEvent>* events) {
  if (held_.ends_with(cuts_.value)) held_.resize(held_.size() - cuts_.value.size());
  if (cuts_.newline_before_value_end && held_.ends_with('\n')) held_.pop_back();
  arguments(spell_json(std::exchange(held_, {})), events);
  arguments("\"", events);
}

void CallReader::end_word(std::vector<TurnEvent>* events) {
  const std::string word = std::exchange(held_, {});
  arguments(word == "True" ? "true" : word == "False" ? "false" : "null", events);
}

void CallReader::close(std::vector<TurnEvent>* events) {
  if (!open_) return;
  leave(TurnTag::kStructure, events);
  zone_ = TurnTag::kStructure;
  if (!announced_) announce(events);
  if (!has_json()) {
    if (wants_value_) arguments("\"\"", events);
    arguments(any_arguments_ ? "}" : "{}", events);
  }
  TurnEvent event{.kind = TurnEvent::Kind::kCallEnd, .call = count_ - 1};
  event.id = std::exchange(id_, {});
  events->push_back(std::move(event));
  abandon();
}

void CallReader::abandon() {
  open_ = name_whole_ = announced_ = any_arguments_ = wants_value_ = false;
  zone_ = TurnTag::kStructure;
  name_.clear();
  id_.clear();
  held_.clear();
  utf8_ = {};
}

void CallReader::end(std::vector<TurnEvent>* events) {
  if (!open_ || !name_whole_) return;
  if (!announced_) announce(events);
  if (zone_ == TurnTag::kValue) arguments(spell_json(std::exchange(held_, {})), events);
}

}  // namespace hearth
