// VocabularyTrie: the tokens of a vocabulary by their bytes, so that a grammar can be walked along
// all of them, and along each common beginning only once. Immutable; all matchers of a model share
// it.
//
// Text matches by its bytes, in whatever tokens. Control tokens match only where a grammar names
// them, however their names are spelled; tokens that end a generation match where the text may end,
// too; unknown, unused and empty tokens and those of kLongestToken or more bytes match nowhere.
//
// For tokens that are plain text (a Slice) the mask is made in advance, and all other tokens have a
// separate trie. Where any plain text may follow, only that trie is walked.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/byte_set.h"
#include "grammar/character_automaton.h"
#include "grammar/code_points.h"
#include "grammar/token_mask.h"
#include "tokenizer/tokenizer.h"

namespace hearth {

enum class TokenRole : uint8_t { kText, kControl, kEnd, kUnused };

struct VocabularyToken {
  TokenRole role = TokenRole::kText;
  std::string bytes = {};  // kText
};

class VocabularyTrie {
 public:
  static constexpr size_t kLongestToken = 512;

  // A node of the trie: a beginning of tokens. Nodes stand in preorder.
  struct Node {
    int32_t token;   // the one that ends here; -1: none
    uint32_t next;   // the node after all that begin with this one
    uint16_t depth;  // its number of bytes, less one
    uint8_t byte;
  };
  using Bits = std::vector<uint64_t>;  // a bit a token
  struct Slice {
    CodePoints characters;
    uint32_t longest = 0;  // characters of its longest token
    Bits mask;
    std::vector<Node> others;  // the trie of all other tokens
    CharacterAutomaton automaton;
  };

  explicit VocabularyTrie(std::span<const VocabularyToken> tokens);
  static std::shared_ptr<const VocabularyTrie> of(const Tokenizer& tokenizer);

  size_t size() const { return roles_.size(); }
  size_t mask_words() const { return hearth::mask_words(size()); }
  TokenRole role(int32_t id) const { return roles_[static_cast<size_t>(id)]; }
  bool has(int32_t id) const { return id >= 0 && static_cast<size_t>(id) < size(); }
  std::string_view bytes(int32_t id) const;

  std::span<const Node> nodes() const { return nodes_; }
  // Returns the slices. The first is that of all plain text, where there are such tokens.
  std::span<const Slice> slices() const { return slices_; }
  // Returns the mask of the first slice's tokens of at most `characters` characters, 1 or more.
  const Bits& plain_up_to(uint64_t characters) const;
  // Returns the mask of the first slice's tokens that have only characters of this set. The latest
  // masks are kept for all threads.
  std::shared_ptr<const Bits> plain_of(const CharacterAutomaton& characters) const;
  // Returns tokens with the same bytes as one in the trie: (the token in the trie, the other
  // token).
  std::span<const std::pair<int32_t, int32_t>> twins() const { return twins_; }
  std::span<const int32_t> ends() const { return ends_; }  // of role kEnd, ascending
  // Return the text tokens with one quotation mark, and the text tokens with several.
  std::span<const int32_t> quoted_once() const { return quoted_once_; }
  std::span<const int32_t> quoted_more() const { return quoted_more_; }

  // Returns the bytes that are a token each, so that any text of them can be spelled. A grammar
  // with other bytes may come to a place where nothing can follow: call RegexSet::restrict_to()
  // before building.
  const ByteSet& single_bytes() const { return single_bytes_; }

 private:
  struct PlainMask {
    CharacterAutomaton characters;
    std::shared_ptr<const Bits> bits;
  };

  void add_slice(const CodePoints& characters, std::span<const int32_t> sorted);
  void count_plain();
  Bits make_plain(const CharacterAutomaton& characters) const;
  std::vector<Node> make_nodes(std::span<const int32_t> sorted) const;

  std::vector<TokenRole> roles_;
  std::string bytes_;
  std::vector<uint32_t> begins_;  // offsets in bytes_, by id, and the end
  std::vector<Node> nodes_;
  std::vector<Slice> slices_;
  std::vector<Bits> plain_by_length_;  // masks of tokens of at most 1, 2, ... characters
  std::vector<std::pair<int32_t, int32_t>> twins_;
  std::vector<int32_t> ends_, quoted_once_, quoted_more_;
  ByteSet single_bytes_;

  mutable std::mutex plain_mutex_;
  mutable std::vector<PlainMask> plain_masks_;
  mutable size_t next_plain_ = 0;
};

}  // namespace hearth
