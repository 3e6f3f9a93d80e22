#include "tokenizer/merge_scores.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/printable.h"
#include "base/utf8.h"
#include "formats/token_index.h"
#include "tokenizer/special_tokens.h"

namespace hearth {
namespace {

// The score of a token that no rule makes; the scores of all other tokens are above it.
constexpr float kNoRule = -1e7F;

bool is_run(std::string_view token) {
  const size_t length = utf8_sequence(token);
  for (size_t at = 0; length > 0 && at < token.size(); at += length) {
    if (token.substr(at, length) != token.substr(0, length)) return false;
  }
  return length > 0;
}

// Throws if two tokens together are a token that no rule makes of them, since SentencePiece would
// merge them.
void check_all_pairs(const Vocab& vocab) {
  std::set<std::pair<int32_t, int32_t>> ruled;
  for (const MergeRule& rule : vocab.merges) ruled.emplace(rule.left, rule.right);
  const TokenIndex index(vocab.tokens);
  auto find = [&](std::string_view text) {
    const int32_t id = index.find(text);
    return id != TokenIndex::kNone && is_guarded_token(vocab, id) ? TokenIndex::kNone : id;
  };
  for (size_t id = 0; id < vocab.tokens.size(); ++id) {
    if (vocab.types[id] != TokenType::kNormal) continue;
    const std::string_view token = vocab.tokens[id];
    for (size_t at = 1; at < token.size(); ++at) {
      if (utf8_sequence(token.substr(at)) == 0) continue;
      const int32_t left = find(token.substr(0, at));
      const int32_t right = left == TokenIndex::kNone ? left : find(token.substr(at));
      if (right == TokenIndex::kNone || ruled.contains({left, right})) continue;
      fail(ErrorCode::kUnsupported,
           "'{}': no rule merges '{}' and '{}' to the token '{}', but the scores of a GGUF file "
           "would: load the folder with --weights instead",
           vocab.source, printable(vocab.tokens[left]), printable(vocab.tokens[right]),
           printable(token));
    }
  }
}

}  // namespace

std::vector<MergeRule> merges_by_rank(const Vocab& vocab) {
  std::vector<MergeRule> rules = vocab.merges;
  std::ranges::stable_sort(rules, {}, &MergeRule::rank);
  return rules;
}

std::vector<float> merge_scores(const Vocab& vocab) {
  std::vector<float> scores(vocab.tokens.size(), kNoRule);
  int32_t last = Vocab::kNone, made = 0;
  for (const MergeRule& rule : merges_by_rank(vocab)) {
    if (rule.merged == last || vocab.types[rule.merged] != TokenType::kNormal) continue;
    if (scores[rule.merged] != kNoRule) {
      if (is_run(vocab.tokens[rule.merged])) continue;
      fail(ErrorCode::kUnsupported,
           "'{}': the merges that make the token '{}' are not consecutive, which the scores of a "
           "GGUF file cannot express: load the folder with --weights instead",
           vocab.source, printable(vocab.tokens[rule.merged]));
    }
    last = rule.merged;
    scores[last] = static_cast<float>(-++made);
  }
  check_all_pairs(vocab);
  return scores;
}

}  // namespace hearth
