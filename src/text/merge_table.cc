#include "text/merge_table.h"

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>

#include "base/error.h"
#include "formats/printable.h"

namespace hearth {

namespace {

struct Rule {
  int32_t left;
  Merge merge;
};

Rule parse_rule(const Vocab& vocab, const TokenIndex& index, size_t rank) {
  std::string_view rule = vocab.merges[rank];
  // A token may begin with a space, so a space in the first byte does not separate the two.
  size_t space = rule.find(' ', 1);
  if (space == std::string_view::npos || space + 1 == rule.size()) {
    fail(ErrorCode::kFile,
         "{}: tokenizer.ggml.merges[{}] is '{}', not two tokens parted by a space", vocab.source,
         rank, printable(rule));
  }
  auto id_of = [&](std::string_view token) {
    int32_t id = index.find(token);
    if (id == TokenIndex::kNone) {
      fail(ErrorCode::kFile,
           "{}: tokenizer.ggml.merges[{}] is '{}', but the vocabulary has no token '{}'; the file "
           "is damaged: get or convert it again",
           vocab.source, rank, printable(rule), printable(token));
    }
    return id;
  };
  std::string_view left = rule.substr(0, space);
  std::string_view right = rule.substr(space + 1);
  std::string merged(left);
  merged += right;
  return {id_of(left), {id_of(right), static_cast<uint32_t>(rank), id_of(merged)}};
}

}  // namespace

MergeTable::MergeTable(const Vocab& vocab, const TokenIndex& index) {
  if (vocab.merges.size() > std::numeric_limits<uint32_t>::max()) {
    fail(ErrorCode::kFile,
         "{}: tokenizer.ggml.merges has {} rules, more than 32-bit ranks can name", vocab.source,
         vocab.merges.size());
  }
  std::vector<Rule> rules;
  rules.reserve(vocab.merges.size());
  for (size_t rank = 0; rank < vocab.merges.size(); ++rank) {
    rules.push_back(parse_rule(vocab, index, rank));
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
