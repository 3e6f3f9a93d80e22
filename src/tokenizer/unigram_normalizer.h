// Normalises a text as SentencePiece does before it splits it (Kudo and Richardson, arXiv
// 1808.06226), by the vocabulary's settings:
//   1. User-defined tokens stay as they are written, the longest first; other sequences of
//      characters are replaced by the character map, the longest first. A byte that is not UTF-8
//      becomes U+FFFD.
//   2. vocab.remove_extra_whitespaces: spaces before and behind the text are dropped, and runs of
//      them become one. A user-defined token's own spaces count like the others, but once a
//      token at the beginning is more than a space, the spaces behind it stay.
//   3. Spaces become U+2581, and vocab.add_space_prefix puts one before the text, if any is left.
//
// Guarded user-defined tokens (tokenizer/special_tokens.h) are treated as ordinary text.
#pragma once

#include <bitset>
#include <string>
#include <string_view>

#include "base/pace.h"
#include "formats/token_index.h"
#include "formats/vocab.h"
#include "tokenizer/character_map.h"
#include "tokenizer/piece_trie.h"

namespace hearth {

class UnigramNormalizer {
 public:
  // The arguments are not needed afterwards. Throws as CharacterMap does.
  UnigramNormalizer(const Vocab& vocab, const TokenIndex& index);

  // Returns the normalised text. With `first` the text begins with a space if the vocabulary puts
  // one. Throws (kRequest) where the map makes more than `most` bytes of the text.
  std::string normalize(std::string_view text, bool first, size_t most, Pace& pace) const;

 private:
  struct Prefix {
    std::string_view text;  // the replacement of a beginning of the text
    size_t length;          // the bytes of that beginning; not 0
  };

  Prefix prefix(std::string_view text) const;
  // Returns how many characters at the beginning of `text` stay as they are and are not spaces.
  size_t plain_run(std::string_view text) const;
  std::string_view without_spaces_before(std::string_view text) const;

  CharacterMap map_;
  PieceTrie user_defined_;
  std::bitset<256> plain_;  // ASCII characters without the space that stay before ASCII
  bool add_space_prefix_;
  bool remove_extra_whitespaces_;
};

}  // namespace hearth
