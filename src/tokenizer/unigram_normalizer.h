// Normalises a text as SentencePiece does before it cuts it (Kudo and Richardson, arXiv
// 1808.06226), by the vocabulary's settings:
//   1. User-defined tokens stay as they are written, the longest first; other sequences of
//      characters become what the character map has for them, the longest first. A byte that is not
//      UTF-8 becomes U+FFFD.
//   2. vocab.remove_extra_whitespaces: spaces before and behind the text are dropped, and runs of
//      them become one. A user-defined token's own spaces count like the others, but a token in
//      front that is more than a space ends the dropping.
//   3. Spaces become U+2581, and vocab.add_space_prefix puts one before the text, if any is left.
//
// User-defined tokens that nobody may forge (tokenizer/special_tokens.h) are no text and not kept.
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
  // Nothing of the arguments is needed afterwards. Throws as CharacterMap does.
  UnigramNormalizer(const Vocab& vocab, const TokenIndex& index);

  // `first`: the text begins with a space if the vocabulary puts one. Throws (kRequest) where the
  // map makes more than `most` bytes of the text.
  std::string normalize(std::string_view text, bool first, size_t most, Pace& pace) const;

 private:
  struct Prefix {
    std::string_view text;  // what a beginning of the text becomes
    size_t length;          // of that beginning; not 0
  };

  Prefix prefix(std::string_view text) const;
  // How many characters at the beginning of `text` stay as they are and are no spaces.
  size_t plain_run(std::string_view text) const;
  std::string_view without_spaces_before(std::string_view text) const;

  CharacterMap map_;
  PieceTrie user_defined_;
  std::bitset<256> plain_;  // ASCII that stays as it is before ASCII, but the space
  bool add_space_prefix_;
  bool remove_extra_whitespaces_;
};

}  // namespace hearth
