#include "tokenizer/piece_trie.h"

#include <algorithm>

namespace hearth {

PieceTrie::PieceTrie(std::span<const std::string> tokens, std::span<const int32_t> ids) {
  // A node whose children are not made yet: those of ids[begin, end), which share `depth` bytes.
  struct Waiting {
    uint32_t node;
    size_t begin;
    size_t end;
    size_t depth;
  };
  nodes_.emplace_back();
  labels_.push_back(0);
  std::vector<int32_t> taken;
  for (int32_t id : ids) {
    if (!tokens[id].empty() && tokens[id].size() <= kMaxPieceBytes) taken.push_back(id);
  }
  // The latest node is taken first, so that a token's nodes lie close together.
  std::vector<Waiting> waiting = {{0, 0, taken.size(), 0}};
  while (!waiting.empty()) {
    Waiting here = waiting.back();
    waiting.pop_back();
    if (here.begin < here.end && tokens[taken[here.begin]].size() == here.depth) {
      nodes_[here.node].id = taken[here.begin++];
    }
    auto first = static_cast<uint32_t>(nodes_.size());
    for (size_t begin = here.begin; begin < here.end;) {
      char label = tokens[taken[begin]][here.depth];
      size_t end = begin + 1;
      while (end < here.end && tokens[taken[end]][here.depth] == label) ++end;
      waiting.push_back({static_cast<uint32_t>(nodes_.size()), begin, end, here.depth + 1});
      nodes_.emplace_back();
      labels_.push_back(static_cast<uint8_t>(label));
      begin = end;
    }
    adopt(here.node, first);
  }
  labels_.resize(labels_.size() + kNarrow);
  nodes_.shrink_to_fit();
  labels_.shrink_to_fit();
}

void PieceTrie::adopt(uint32_t node, uint32_t first) {
  auto count = static_cast<uint32_t>(nodes_.size()) - first;
  nodes_[node].first = first;
  nodes_[node].shape = count;
  if (count <= kNarrow) return;
  Mask mask;
  for (uint32_t i = first; i < first + count; ++i) {
    mask.bits[labels_[i] / 64] |= uint64_t{1} << (labels_[i] % 64);
  }
  for (size_t word = 1; word < mask.bits.size(); ++word) {
    auto set = static_cast<uint8_t>(std::popcount(mask.bits[word - 1]));
    mask.before[word] = static_cast<uint8_t>(mask.before[word - 1] + set);
  }
  masks_.push_back(mask);
  nodes_[node].shape = kNarrow + static_cast<uint32_t>(masks_.size());
}

}  // namespace hearth
