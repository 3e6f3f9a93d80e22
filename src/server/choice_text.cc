#include "server/choice_text.h"

#include <algorithm>
#include <iterator>

#include "base/utf8.h"

namespace hearth {
namespace {

bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

}  // namespace

uint64_t count_code_points(std::string_view text) {
  return static_cast<uint64_t>(
      std::ranges::count_if(text, [](char byte) { return !is_continuation(byte); }));
}

void ChoicePart::append(ChoicePart next) {
  text += next.text;
  reasoning += next.reasoning;
  std::ranges::move(next.entries, std::back_inserter(entries));
  for (CallPart& call : next.calls) {
    if (!calls.empty() && calls.back().index == call.index) {
      calls.back().arguments += call.arguments;
    } else {
      calls.push_back(std::move(call));
    }
  }
  if (next.finish) finish = next.finish;
  called |= next.called;
  stop += next.stop;
}

TokenEntry token_entry(const Tokenizer& tokenizer, const Result& result, bool special) {
  TokenEntry entry{tokenizer.token_bytes(result.token, special), result.logprob, {}, 0};
  if (entry.bytes.empty()) return entry;
  for (auto [id, logprob] : result.top_logprobs) {
    entry.top.emplace_back(tokenizer.token_bytes(id, special), logprob);
  }
  return entry;
}

ChoicePart ChoiceText::take(const Result& result) {
  if (result.has_token()) ++tokens_;
  if (logprobs_ && result.has_token() && result.finish != Finish::kEndOfText) add(result);
  ChoicePart part{
      .index = index_, .text = result.text, .finish = result.finish, .stop = result.stop};
  given_ += result.text.size();
  for (; !waiting_.empty() && waiting_.front().begin < given_; waiting_.pop_front()) {
    part.entries.push_back(std::move(waiting_.front().entry));
  }
  finish_ = result.finish;
  return part;
}

void ChoiceText::add(const Result& result) {
  Waiting token{0, token_entry(*tokenizer_, result, special_)};
  const std::string bytes = token.entry.bytes;
  if (bytes.empty()) return;
  push(bytes[0], &token);
  for (size_t i = 1; i < bytes.size(); ++i) push(bytes[i], nullptr);
  waiting_.push_back(std::move(token));
}

// A token begins where the character does that its first byte is part of. A byte that does not go
// on with the character before it makes U+FFFD of that one.
void ChoiceText::push(char byte, Waiting* first) {
  size_t held = utf8_.held();
  std::string text = utf8_.push({&byte, 1});
  if (first != nullptr) {
    bool completes = utf8_.held() == 0 && text.size() == held + 1 && is_continuation(byte);
    bool breaks = held > 0 && !text.empty() && !completes;
    first->begin = bytes_ + (breaks ? kReplacementCharacter.size() : 0);
    first->entry.offset = points_ + (breaks ? 1 : 0);
  }
  bytes_ += text.size();
  points_ += count_code_points(text);
}

}  // namespace hearth
