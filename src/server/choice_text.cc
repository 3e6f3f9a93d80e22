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

uint64_t bytes_of(const ChoicePart& part) {
  uint64_t bytes = part.text.size() + part.reasoning.size();
  for (const CallPart& call : part.calls) {
    if (!call.name.empty()) bytes += sizeof(call);  // later parts of a call are joined to it
    bytes += call.id.size() + call.name.size() + call.arguments.size();
  }
  for (const TokenEntry& entry : part.entries) {
    bytes += sizeof(entry) + entry.bytes.size();
    for (const auto& likely : entry.top) bytes += sizeof(likely) + likely.first.size();
  }
  return bytes;
}

EchoedPrompt::EchoedPrompt(const Tokenizer& tokenizer, std::vector<int32_t> all)
    : tokens(std::move(all)) {
  std::string spelled;
  for (int32_t token : tokens) spelled += tokenizer.token_bytes(token);
  drops_space = spelled.starts_with(' ') && tokenizer.decode(tokens) == spelled.substr(1);
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
  ChoicePart part{.index = index_, .finish = result.finish, .stop = result.stop};
  if (prompt_) part.text = add_prompt(result);
  if (result.has_token()) ++tokens_;
  if (logprobs_ && result.has_token()) add(result);
  part.text += result.text;
  given_ += part.text.size();
  auto given = [this](const Waiting& token) { return token.begin + !token.silent <= given_; };
  for (; !waiting_.empty() && given(waiting_.front()); waiting_.pop_front()) {
    part.entries.push_back(std::move(waiting_.front().entry));
  }
  finish_ = result.finish;
  return part;
}

void ChoiceText::add(const Result& result) {
  std::string bytes = tokenizer_->token_bytes(result.token, special_);
  // The token that ends a text has no text itself, except where the engine returned it: where the
  // output's grammar ended with it, or the client asked to see control tokens.
  if (result.finish == Finish::kEndOfText && !result.text.ends_with(bytes)) bytes.clear();
  if (bytes.empty() && !prompt_) return;
  add_entry(token_entry(*tokenizer_, result, special_ || prompt_), bytes);
}

// Adds the entries of prompt tokens whose scores have come (all of them once the prompt is
// complete), and returns their text.
std::string ChoiceText::add_prompt(const Result& result) {
  const std::vector<int32_t>& tokens = prompt_->tokens;
  const size_t scored = result.index + result.prompt_logprobs.size();
  const size_t end = result.has_token() || result.finish ? tokens.size() : scored;
  if (echoed_ == tokens.size()) return {};
  std::string text;
  for (; echoed_ < end; ++echoed_) {
    Result token;
    token.token = tokens[echoed_];
    const bool known = echoed_ >= result.index && echoed_ < scored;
    if (known) {
      const TokenScore& score = result.prompt_logprobs[echoed_ - result.index];
      token.logprob = score.logprob;
      token.top_logprobs = score.top;
    }
    TokenEntry entry = token_entry(*tokenizer_, token, true);
    entry.scored = known;
    std::string bytes = tokenizer_->token_bytes(token.token, special_);
    if (drops_space_ && !bytes.empty()) {
      bytes.erase(0, 1);
      drops_space_ = false;
    }
    text += add_entry(std::move(entry), bytes);
  }
  if (echoed_ < tokens.size()) return text;
  // Generated text must not be joined to a character that the echoed prompt left incomplete.
  const std::string rest = utf8_.flush();
  bytes_ += rest.size();
  points_ += count_code_points(rest);
  return text + rest;
}

// Adds the entry of a token whose text is `bytes`. Returns the text that became certain.
std::string ChoiceText::add_entry(TokenEntry entry, std::string_view bytes) {
  Waiting token{bytes_, bytes.empty(), std::move(entry)};
  token.entry.offset = points_;
  std::string text;
  for (size_t i = 0; i < bytes.size(); ++i) text += push(bytes[i], i == 0 ? &token : nullptr);
  waiting_.push_back(std::move(token));
  return text;
}

// Adds a byte; `first` is its token's entry if it is the token's first byte. A token's text begins
// at the character that its first byte belongs to. If that byte breaks off an incomplete character,
// that character becomes U+FFFD, and the token begins after it.
std::string ChoiceText::push(char byte, Waiting* first) {
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
  return text;
}

}  // namespace hearth
