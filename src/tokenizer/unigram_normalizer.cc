#include "tokenizer/unigram_normalizer.h"

#include <algorithm>

#include "base/error.h"
#include "base/utf8.h"
#include "tokenizer/special_tokens.h"
#include "tokenizer/spm_encoder.h"

namespace hearth {

namespace {

PieceTrie user_defined_tokens(const Vocab& vocab, const TokenIndex& index) {
  std::vector<int32_t> ids;
  for (int32_t id : index.sorted_ids()) {
    if (vocab.types[id] == TokenType::kUserDefined && !is_guarded_token(vocab, id)) {
      ids.push_back(id);
    }
  }
  return {vocab.tokens, ids};
}

}  // namespace

UnigramNormalizer::UnigramNormalizer(const Vocab& vocab, const TokenIndex& index)
    : map_(vocab.charsmap, vocab.source),
      user_defined_(user_defined_tokens(vocab, index)),
      add_space_prefix_(vocab.add_space_prefix),
      remove_extra_whitespaces_(vocab.remove_extra_whitespaces) {
  for (uint8_t c = 0; c < 128; ++c) {
    bool begins_token = user_defined_.child(*user_defined_.root(), static_cast<char>(c)) != nullptr;
    plain_.set(c, c != ' ' && map_.keeps(c) && !begins_token);
  }
}

UnigramNormalizer::Prefix UnigramNormalizer::prefix(std::string_view text) const {
  size_t kept = 0;
  const PieceTrie::Node* node = user_defined_.root();
  for (size_t at = 0; at < text.size(); ++at) {
    node = user_defined_.child(*node, text[at]);
    if (node == nullptr) break;
    if (node->id != PieceTrie::kNone) kept = at + 1;
  }
  if (kept > 0) return {text.substr(0, kept), kept};
  if (auto match = map_.longest_prefix(text); match.length > 0) {
    return {match.replacement, match.length};
  }
  size_t length = utf8_sequence(text);
  if (length == 0) return {kReplacementCharacter, 1};
  return {text.substr(0, length), length};
}

size_t UnigramNormalizer::plain_run(std::string_view text) const {
  size_t run = 0;
  while (run < text.size() && plain_.test(static_cast<uint8_t>(text[run]))) ++run;
  // The last plain character is left out if the map may have a sequence that begins with it and
  // goes on with the non-ASCII character behind it.
  bool alone = run < text.size() && static_cast<uint8_t>(text[run]) >= 0x80;
  return run > 0 && alone ? run - 1 : run;
}

std::string_view UnigramNormalizer::without_spaces_before(std::string_view text) const {
  while (!text.empty()) {
    Prefix next = prefix(text);
    if (next.text != " ") break;
    text.remove_prefix(next.length);
  }
  return text;
}

std::string UnigramNormalizer::normalize(std::string_view text, bool first, size_t most,
                                         Pace& pace) const {
  std::string normal;
  if (remove_extra_whitespaces_) text = without_spaces_before(text);
  if (text.empty()) return normal;
  normal.reserve(text.size() + text.size() / 2 + kSpaceMark.size());
  if (first && add_space_prefix_) normal += kSpaceMark;
  bool drop_spaces = remove_extra_whitespaces_;
  while (!text.empty()) {
    if (size_t run = plain_run(text); run > 0) {
      normal += text.substr(0, run);
      text.remove_prefix(run);
      drop_spaces = false;
      continue;
    }
    Prefix next = prefix(text);
    pace.did(1);
    text.remove_prefix(next.length);
    if (drop_spaces) {
      next.text.remove_prefix(std::min(next.text.find_first_not_of(' '), next.text.size()));
    }
    for (char c : next.text) {
      if (c == ' ') {
        normal += kSpaceMark;
      } else {
        normal += c;
      }
    }
    if (!next.text.empty()) drop_spaces = remove_extra_whitespaces_ && next.text.ends_with(' ');
    if (normal.size() > most) {
      fail(ErrorCode::kRequest,
           "the vocabulary's character map expands the text to more than {} bytes: split it", most);
    }
  }
  while (remove_extra_whitespaces_ && normal.ends_with(kSpaceMark)) {
    normal.resize(normal.size() - kSpaceMark.size());
  }
  return normal;
}

}  // namespace hearth
