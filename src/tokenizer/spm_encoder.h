// SentencePiece's greedy merging (Kudo and Richardson, arXiv 1808.06226) as Llama and Phi-3 use it:
// spaces become U+2581, the text is cut into characters, and the two neighbours whose concatenation
// is the token with the highest score are merged, of equal scores the leftmost, until none are
// left. O(n log n).
//
// There is no pre-tokenizer: the whole text is one piece. But where no token has a space inside it,
// as in Llama's vocabulary, no merge reaches from one word into the next, and the text is merged
// word by word: this gives the same result from small heaps instead of a large one.
//
// A character without a token becomes the byte tokens "<0x..>" of its bytes, so bytes that are not
// UTF-8 survive, too. A vocabulary without any byte token uses the unknown token.
// Construction fails (kFile) where only some byte tokens exist, or none and no unknown token.
#pragma once

#include <array>

#include "formats/token_index.h"
#include "formats/vocab.h"
#include "tokenizer/encoder.h"

namespace hearth {

// U+2581, which stands for a space in tokens.
inline constexpr std::string_view kSpaceMark = "\xe2\x96\x81";

// Returns the position of the first U+2581 that has another character before it; text.size() where
// there is none.
size_t space_inside(std::string_view text);

// Returns the byte that a token named like "<0x0A>" stands for, or -1.
int byte_token_value(std::string_view token);

class SpmEncoder : public Encoder {
 public:
  // `vocab` and `index` must outlive the encoder.
  SpmEncoder(const Vocab& vocab, const TokenIndex& index);

  void encode(std::string_view text, Before before, Encoding& out) const override;

 private:
  // Returns the length of the beginning of `marked` (text with its spaces marked) that can be
  // merged on its own.
  size_t piece_length(std::string_view marked) const;

  const Vocab& vocab_;
  const TokenIndex& index_;
  std::array<int32_t, 256> byte_ids_;
  bool has_bytes_ = false;
  bool words_apart_ = true;  // no token has a space after another character
};

}  // namespace hearth
