// Byte-level BPE (GPT-2; Sennrich et al., arXiv 1508.07909): text is cut into pieces by the
// pre-tokenizer, each piece into bytes, and neighbours are merged in the order of the rules' ranks;
// of pairs with equal ranks, the leftmost is merged first. O(n log n) for a piece of n bytes.
//
// Bytes that are not UTF-8 are kept as they are: each is a separate piece. So decoding gives back
// every text byte for byte.
//
// A vocabulary may lack tokens for some bytes (small ones were trained on bytes that text holds):
// such a byte becomes the unknown token, or the text is refused (kRequest) where there is none.
// Construction fails (kFile) if a printable ASCII character, the space or the newline has no token,
// since then the vocabulary is not byte-level.
//
// If a tokenizer.json has rules and does not spell pieces as bytes, merging starts from characters.
// A character without a token becomes the byte tokens "<0x..>" of its bytes, if the rules say so
// and all these tokens exist. Else it becomes the unknown token, or the text is refused if there is
// none.
#pragma once

#include <array>

#include "formats/token_index.h"
#include "formats/vocab.h"
#include "tokenizer/encoder.h"
#include "tokenizer/merge_table.h"
#include "tokenizer/pre_tokenizer.h"

namespace hearth {

class BpeEncoder : public Encoder {
 public:
  // `vocab` and `index` must outlive the encoder. Oddities of the vocabulary are added to its
  // warnings.
  BpeEncoder(Vocab& vocab, const TokenIndex& index, const PreTokenizerRule& rule);
  // Makes an encoder that pre-tokenizes by vocab.rules. Also throws as PreTokenizer does.
  BpeEncoder(Vocab& vocab, const TokenIndex& index);

  void encode(std::string_view text, Before before, Encoding& out) const override;

 private:
  struct Work;  // scratch memory of one encode()

  BpeEncoder(Vocab& vocab, const TokenIndex& index, PreTokenizer pre_tokenizer, bool whole_tokens);

  void find_bytes(Vocab& vocab);
  void find_characters();
  // Returns the token of this text, from which merging may start; kNone if there is none, or if
  // only SpecialTokens finds it.
  int32_t find(std::string_view text) const;
  int32_t find_character(std::string_view character) const;
  void encode_piece(std::string_view piece, Work& work, std::vector<int32_t>& ids) const;
  void put_bytes(std::string_view piece, Work& work) const;
  void put_characters(std::string_view piece, Work& work) const;
  // Puts the byte tokens of a character's bytes. Returns false where one is missing.
  bool put_fallback(std::string_view character, Work& work) const;
  void merge(Work& work) const;
  void push(uint8_t byte, int32_t id, std::vector<int32_t>& ids) const;

  static constexpr size_t kSmallCharacters = 0x800;

  const Vocab& vocab_;
  const TokenIndex& index_;
  MergeTable merges_;
  PreTokenizer pre_tokenizer_;
  bool whole_tokens_;
  bool byte_fallback_ = false;
  bool fuse_unk_ = false;
  std::array<int32_t, 256> byte_ids_;  // the token of each single byte
  std::vector<int32_t> small_;         // the tokens of the first characters, by code point
};

}  // namespace hearth
