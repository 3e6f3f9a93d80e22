// PieceTrie: the tokens of a vocabulary as a trie over their bytes, which finds every token that a
// text begins with in one walk. A step takes the same few instructions at every node: it compares
// up to eight children at once; if there are more, it counts bits of a mask.
//
//   for (const Node* node = trie.root(); at < text.size(); ++at) {
//     node = trie.child(*node, text[at]);
//     if (node == nullptr) break;
//     if (node->id != PieceTrie::kNone) ...  // text.substr(0, at + 1) is the token node->id
//   }
//
// It takes 12 bytes a node, and at most one node a byte of the tokens. Tokens longer than
// kMaxPieceBytes are left out, as are empty ones: the time of a walk must not grow with the text.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

namespace hearth {

class PieceTrie {
 public:
  static constexpr int32_t kNone = -1;
  static constexpr size_t kMaxPieceBytes = 1024;

  struct Node {
    uint32_t first = 0;  // its first child; the others follow in the order of their bytes
    uint32_t shape = 0;  // up to kNarrow: the number of children; above: the index of a mask
    int32_t id = kNone;  // the token that ends here
  };

  // `ids` are the tokens to take, sorted by text, none twice. The texts are not needed afterwards.
  PieceTrie(std::span<const std::string> tokens, std::span<const int32_t> ids);

  const Node* root() const { return nodes_.data(); }
  // Returns the child by `byte`, or nullptr.
  const Node* child(const Node& node, char byte) const {
    auto label = static_cast<uint8_t>(byte);
    if (node.shape > kNarrow) return wide_child(node, label);
    // A byte of `same` is 0 where a label is equal; the lowest zero byte is found exactly.
    uint64_t labels;
    std::memcpy(&labels, labels_.data() + node.first, sizeof labels);
    uint64_t same = labels ^ (kOnes * label);
    auto at = static_cast<uint32_t>(std::countr_zero((same - kOnes) & ~same & (kOnes << 7))) / 8;
    return at < node.shape ? &nodes_[node.first + at] : nullptr;
  }

 private:
  static constexpr uint32_t kNarrow = 8;
  static constexpr uint64_t kOnes = 0x0101010101010101;

  struct Mask {
    std::array<uint64_t, 4> bits{};
    std::array<uint8_t, 4> before{};  // how many bits are set in the words before; 192 at most
  };

  const Node* wide_child(const Node& node, uint8_t label) const {
    const Mask& mask = masks_[node.shape - kNarrow - 1];
    uint64_t word = mask.bits[label / 64];
    uint64_t bit = uint64_t{1} << (label % 64);
    if ((word & bit) == 0) return nullptr;
    auto rank = static_cast<uint32_t>(std::popcount(word & (bit - 1)));
    return &nodes_[node.first + mask.before[label / 64] + rank];
  }
  // Makes the nodes from `first` to the end the children of a node.
  void adopt(uint32_t node, uint32_t first);

  std::vector<Node> nodes_;
  std::vector<uint8_t> labels_;  // the byte that leads to each node, and kNarrow bytes behind
  std::vector<Mask> masks_;
};

}  // namespace hearth
