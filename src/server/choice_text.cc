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
  std::ranges::move(next.entries, std::back_inserter(entries));
  if (next.finish) finish = next.finish;
}

ChoicePart ChoiceText::take(const Result& result) {
  if (result.has_token()) ++tokens_;
  if (logprobs_ && result.has_token() && result.finish != Finish::kEndOfText) add(result);
  ChoicePart part{index_, result.text, {}, result.finish};
  given_ += result.text.size();
  for (; !waiting_.empty() && waiting_.front().begin < given_; waiting_.pop_front()) {
    part.entries.push_back(std::move(waiting_.front().entry));
  }
  finish_ = result.finish;
  return part;
}

void ChoiceText::add(const Result& result) {
  std::string bytes = tokenizer_->token_bytes(result.token, special_);
  if (bytes.empty()) return;
  Waiting token{0, {bytes, result.logprob, {}, 0}};
  for (auto [id, logprob] : result.top_logprobs) {
    token.entry.top.emplace_back(tokenizer_->token_bytes(id, special_), logprob);
  }
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
