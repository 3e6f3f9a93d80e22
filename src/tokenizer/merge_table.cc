#include "tokenizer/merge_table.h"

#include <algorithm>

#include "tokenizer/special_tokens.h"

namespace hearth {

namespace {

struct Rule {
  int32_t left;
  Merge merge;
};

}  // namespace

MergeTable::MergeTable(const Vocab& vocab) {
  std::vector<Rule> rules;
  rules.reserve(vocab.merges.size());
  for (const MergeRule& rule : vocab.merges) {
    // Text that spells a control token must not become that token.
    if (is_guarded_token(vocab, rule.merged)) continue;
    rules.push_back({rule.left, {rule.right, rule.rank, rule.merged}});
  }
  std::sort(rules.begin(), rules.end(), [](const Rule& a, const Rule& b) {
    if (a.left != b.left) return a.left < b.left;
    if (a.merge.right != b.merge.right) return a.merge.right < b.merge.right;
    return a.merge.rank < b.merge.rank;
  });
  auto same_pair = [](const Rule& a, const Rule& b) {
    return a.left == b.left && a.merge.right == b.merge.right;
  };
  rules.erase(std::unique(rules.begin(), rules.end(), same_pair), rules.end());

  merges_.reserve(rules.size());
  row_.assign(vocab.tokens.size() + 1, 0);
  for (const Rule& rule : rules) {
    ++row_[rule.left + 1];
    merges_.push_back(rule.merge);
  }
  for (size_t i = 1; i < row_.size(); ++i) row_[i] += row_[i - 1];
}

const Merge* MergeTable::find(int32_t left, int32_t right) const {
  if (left < 0 || right < 0) return nullptr;
  const Merge* end = merges_.data() + row_[left + 1];
  const Merge* found =
      std::lower_bound(merges_.data() + row_[left], end, right,
                       [](const Merge& merge, int32_t wanted) { return merge.right < wanted; });
  return found != end && found->right == right ? found : nullptr;
}

}  // namespace hearth
