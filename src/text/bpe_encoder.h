// Byte-level BPE (GPT-2; Sennrich et al., arXiv 1508.07909): text is cut into pieces by the
// pre-tokenizer, each piece into bytes, and neighbours are merged in the order of the rules' ranks,
// of equal ranks the leftmost first. O(n log n) for a piece of n bytes.
//
// Bytes that are not UTF-8 are kept as they are: each is a piece of its own, so every text is given
// back byte for byte by decoding.
//
// A vocabulary may lack tokens for some bytes (small ones were trained on bytes that text holds):
// such a byte becomes the unknown token, or the text is refused (kRequest) where there is none.
// Construction fails (kFile) where printable ASCII, space or newline have no token: that is no
// byte-level vocabulary. It also throws what MergeTable does.
#pragma once

#include <array>

#include "formats/vocab.h"
#include "text/encoder.h"
#include "text/merge_table.h"
#include "text/pre_tokenizer.h"
#include "text/token_index.h"

namespace hearth {

class BpeEncoder : public Encoder {
 public:
  // `vocab` and `index` must outlive the encoder. Oddities of the vocabulary are added to its
  // warnings.
  BpeEncoder(Vocab& vocab, const TokenIndex& index, const PreTokenizerRule& rule);

  void encode(std::string_view text, bool first, std::vector<int32_t>& ids) const override;

 private:
  struct Work;  // scratch memory of one encode()

  void encode_piece(std::string_view piece, Work& work, std::vector<int32_t>& ids) const;
  void merge(Work& work) const;
  void push(uint8_t byte, int32_t id, std::vector<int32_t>& ids) const;

  const Vocab& vocab_;
  const TokenIndex& index_;
  MergeTable merges_;
  PreTokenizer pre_tokenizer_;
  std::array<int32_t, 256> byte_ids_;
  int32_t unk_;
  bool whole_tokens_;
};

}  // namespace hearth
