#include "server/turn_choice.h"

#include <algorithm>
#include <random>
#include <utility>

#include "server/turn_history.h"

namespace hearth {
namespace {

constexpr uint32_t kIdLength = 24;

}  // namespace

std::string new_call_id(uint32_t length) {
  std::random_device random;
  std::string unique;
  for (int i = 0; i < 4; ++i) unique += std::to_string(random()) + ' ';
  return length > 0 ? short_id(unique, length) : "call_" + short_id(unique, kIdLength);
}

TurnChoice::TurnChoice(const Tokenizer& tokenizer, std::shared_ptr<const TurnLanguage> language,
                       uint32_t index, const Request& request, bool reasoning)
    : tokenizer_(&tokenizer),
      language_(std::move(language)),
      index_(index),
      stop_tokens_(request.stop_tokens),
      include_stop_(request.include_stop),
      logprobs_(request.logprobs),
      special_(request.special_text),
      reasoning_(reasoning),
      reader_(language_),
      stops_(request.stops) {}

ChoicePart TurnChoice::take(const Result& result) {
  ChoicePart part{.index = index_};
  const bool ended_by_token = ends_text(result);
  if (result.has_token()) ++tokens_;
  if (result.has_token() && !ended_by_token) read(result, &part);
  if (result.finish) end(result, ended_by_token, &part);
  return part;
}

// Whether the result's token ended the turn and is not part of it.
bool TurnChoice::ends_text(const Result& result) const {
  if (!result.has_token() || result.finish != Finish::kEndOfText) return false;
  return tokenizer_->is_eog(result.token) || std::ranges::count(stop_tokens_, result.token) > 0;
}

void TurnChoice::read(const Result& result, ChoicePart* part) {
  if (logprobs_) {
    TokenEntry entry = token_entry(*tokenizer_, result, special_);
    const size_t begin = expected_from_ + expected_.size();
    expected_ += entry.bytes;
    if (!entry.bytes.empty()) unshown_.push_back({begin, std::move(entry)});
  }
  events_.clear();
  reader_.take(result.token, &events_);
  add_events(part);
}

void TurnChoice::add_content(const std::string& text, ChoicePart* part) {
  part->text += text;
  if (logprobs_) pass(text, &part->entries);
}

void TurnChoice::add_events(ChoicePart* part) {
  for (const TurnEvent& event : events_) {
    switch (event.kind) {
      case TurnEvent::Kind::kContent:
        add_content(stops_.push(event.text), part);
        break;
      case TurnEvent::Kind::kReasoning:
        if (reasoning_) part->reasoning += event.text;
        if (logprobs_) pass(event.text, nullptr);
        break;
      case TurnEvent::Kind::kCall:
        part->calls.push_back({event.call, call_id(event), event.text, ""});
        pass_all();
        break;
      case TurnEvent::Kind::kArguments:
        add_arguments(event, part);
        pass_all();
        break;
      case TurnEvent::Kind::kCallEnd:
        pass_all();
        break;
    }
  }
}

void TurnChoice::add_arguments(const TurnEvent& event, ChoicePart* part) {
  if (event.text.empty()) return;
  if (part->calls.empty() || part->calls.back().index != event.call) {
    part->calls.push_back({.index = event.call});
  }
  part->calls.back().arguments += event.text;
}

// Moves past `text` in the tokens' text, and adds the entries of the tokens that have a byte of
// `text` to `entries`; if `entries` is null, drops those entries. After a seam the text is searched
// for from the end of the tokens' text.
void TurnChoice::pass(std::string_view text, std::vector<TokenEntry>* entries) {
  if (text.empty()) return;
  size_t at = 0;
  if (seam_) {
    at = expected_.rfind(text);
  } else if (!std::string_view(expected_).starts_with(text)) {
    at = expected_.find(text);
  }
  seam_ = entries == nullptr;
  // Bytes that are not UTF-8 are replaced in `text`, so it is not found.
  if (at == std::string::npos) at = 0;
  const size_t begin = expected_from_ + at;
  const size_t size = std::min(at + text.size(), expected_.size());
  expected_.erase(0, size);
  expected_from_ += size;
  for (; !unshown_.empty() && unshown_.front().begin < expected_from_; unshown_.pop_front()) {
    Unshown& token = unshown_.front();
    const bool shown = token.begin + token.entry.bytes.size() > begin;
    if (entries != nullptr && shown) entries->push_back(std::move(token.entry));
  }
}

void TurnChoice::pass_all() {
  expected_from_ += expected_.size();
  expected_.clear();
  unshown_.clear();
  seam_ = true;
}

void TurnChoice::end(const Result& result, bool ended_by_token, ChoicePart* part) {
  events_.clear();
  reader_.end(&events_);
  add_events(part);
  add_content(stops_.flush(), part);
  // The stop string that ended the turn is no content, unless the client asked to see it.
  if (include_stop_ && stops_.stopped()) add_content(stops_.matched(), part);
  if (include_stop_ && ended_by_token && reader_.calls() == 0) {
    part->text += tokenizer_->token_bytes(result.token, special_);
  }
  part->finish = finish_ = result.finish;
  part->called = reader_.calls() > 0;
  part->stop = result.stop;
}

// Returns a call's id: the model's own if it has the form that the template shows and no earlier
// call has it, else a new one.
std::string TurnChoice::call_id(const TurnEvent& event) {
  const uint32_t length = language_->format.history.id_length;
  const std::optional<CallFormat>& calls = language_->format.calls;
  const bool numbered = calls && calls->id_place == IdPlace::kAroundName;
  const bool wanted = numbered ? !event.id.empty() : length > 0 && is_call_id(event.id, length);
  const bool fresh = std::ranges::find(ids_, event.id) == ids_.end();
  ids_.push_back(wanted && fresh ? event.id : new_call_id(length));
  return ids_.back();
}

}  // namespace hearth
