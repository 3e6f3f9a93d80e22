// VocabularyTrie: the tokens of a vocabulary by their bytes, in an order in which a grammar can be
// walked along them, each beginning once. Immutable: one serves all who use a model.
//
// Text matches by its bytes, whatever token they come in. Control tokens match only where a grammar
// names them, however their names are spelled; tokens that end a generation match where the text
// may end, too; unknown, unused and empty ones match nowhere, nor do those of kLongestToken bytes
// and more.
//
// Ready masks: of the tokens that are plain text (a Slice) the mask is there, and the other tokens
// have a trie of their own. Where any plain text may follow, only those others are walked.
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

  // A beginning of tokens. Nodes stand in preorder.
  struct Node {
    int32_t token;   // the one that ends here; -1: none
    uint32_t next;   // the node behind all that begin with this one
    uint16_t depth;  // bytes before its own
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
  // The tokens of the first slice that have at most so many characters, 1 or more.
  const Bits& plain_up_to(uint64_t characters) const;
  // The tokens of the first slice that have characters of this set alone. The last ones that were
  // asked for are kept, for all threads.
  std::shared_ptr<const Bits> plain_of(const CharacterAutomaton& characters) const;
  // Tokens beside the one of the trie that have the same bytes: (the trie's, the other).
  std::span<const std::pair<int32_t, int32_t>> twins() const { return twins_; }
  std::span<const int32_t> ends() const { return ends_; }  // of role kEnd, ascending
  // Tokens of text that have one quotation mark, and those that have more.
  std::span<const int32_t> quoted_once() const { return quoted_once_; }
  std::span<const int32_t> quoted_more() const { return quoted_more_; }

  // The bytes that are a token each, so that any text of them can be spelled. A grammar of other
  // bytes may come to a place where nothing can follow: RegexSet::restrict_to() before building.
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
  std::vector<uint32_t> begins_;  // in bytes_, by id, and the end
  std::vector<Node> nodes_;
  std::vector<Slice> slices_;
  std::vector<Bits> plain_by_length_;  // of 1, 2, ... characters at most
  std::vector<std::pair<int32_t, int32_t>> twins_;
  std::vector<int32_t> ends_, quoted_once_, quoted_more_;
  ByteSet single_bytes_;

  mutable std::mutex plain_mutex_;
  mutable std::vector<PlainMask> plain_masks_;
  mutable size_t next_plain_ = 0;
};

}  // namespace hearth
