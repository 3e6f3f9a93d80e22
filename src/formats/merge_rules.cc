#include "formats/merge_rules.h"

#include <string_view>

#include "base/error.h"
#include "base/printable.h"

namespace hearth {

std::vector<MergeRule> parse_merge_rules(const Vocab& vocab, const TokenIndex& index,
                                         std::span<const std::string> rules) {
  std::vector<MergeRule> merges;
  merges.reserve(rules.size());
  for (size_t rank = 0; rank < rules.size(); ++rank) {
    const std::string_view rule = rules[rank];
    // A token may begin with a space, so a space in the first byte is part of the left token.
    const size_t space = rule.find(' ', 1);
    if (space == std::string_view::npos || space + 1 == rule.size()) {
      fail(ErrorCode::kFile,
           "{}: tokenizer.ggml.merges[{}] is '{}', not two tokens separated by a space; the file "
           "is damaged: get or convert it again",
           vocab.source, rank, printable(rule));
    }
    auto id_of = [&](std::string_view token) {
      const int32_t id = index.find(token);
      if (id == TokenIndex::kNone) {
        fail(ErrorCode::kFile,
             "{}: tokenizer.ggml.merges[{}] is '{}', but the vocabulary has no token '{}'; the "
             "file is damaged: get or convert it again",
             vocab.source, rank, printable(rule), printable(token));
      }
      return id;
    };
    const std::string_view left = rule.substr(0, space), right = rule.substr(space + 1);
    merges.push_back({id_of(left), id_of(right), id_of(std::string(left) + std::string(right)),
                      static_cast<uint32_t>(rank)});
  }
  return merges;
}

}  // namespace hearth
