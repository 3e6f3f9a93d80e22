// WordPiece as BERT uses it (Devlin et al., arXiv 1810.04805; the cleaning is that of the models'
// own tokenizer.json, BertNormalizer and BertPreTokenizer):
//   1. NUL, U+FFFD, control and format characters (categories Cc, Cf, Co) are dropped, but tab,
//      newline and carriage return, which are white space. Bytes that are not UTF-8 count as
//      U+FFFD.
//   2. Canonical decomposition, after which non-spacing marks are dropped (vocab.strip_accents);
//      lower case (vocab.lowercase).
//   3. Words end at white space; every punctuation character (ASCII's symbols count) and every
//      ideograph is a word of its own.
//   4. A word is cut into the longest tokens from its left; where that fails, or the word is longer
//      than 100 characters, it becomes the unknown token.
// GGUF files spell the first token of a word with U+2581 before it and the others without "##".
// Construction fails (kFile) where the vocabulary has no unknown token.
#pragma once

#include <string>

#include "formats/token_index.h"
#include "formats/vocab.h"
#include "tokenizer/encoder.h"

namespace hearth {

class WordPieceEncoder : public Encoder {
 public:
  // `index` must outlive the encoder.
  WordPieceEncoder(const Vocab& vocab, const TokenIndex& index);

  void encode(std::string_view text, Before before, Encoding& out) const override;

 private:
  void encode_word(const std::string& word, size_t characters, std::vector<int32_t>& ids) const;

  const TokenIndex& index_;
  int32_t unk_;
  bool lowercase_;
  bool strip_accents_;
};

}  // namespace hearth
