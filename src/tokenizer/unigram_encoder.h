// SentencePiece's unigram model (Kudo, arXiv 1804.10959; Kudo and Richardson, arXiv 1808.06226) as
// XLM-RoBERTa and T5 use it: the normalised text (tokenizer/unigram_normalizer.h) is cut into the
// tokens whose scores, logarithms of probabilities, have the largest sum. Viterbi's algorithm finds
// them, in double precision, in which the sums are exact. The same tokens in another order, as in
// "000", have equal sums. Then the order that SentencePiece takes counts: SentencePiece adds in
// single precision from the beginning of the text, and takes the larger of these sums, or the first
// of equal ones.
//
// All tokens are found by their text, except control, unknown, byte and unused tokens. A
// user-defined token has the score -0.1, or where scores are above 0 the best score times the
// token's bytes, less 0.1, so that nearly nothing else stands in its place. A character that no
// token spells alone may stand as an unknown token, with a score 10 below the worst. In the end
// unknowns become the byte tokens of their bytes where the vocabulary has these (of the type byte),
// and otherwise one unknown token for a run.
//
// Where no token has a space behind another character, the text is cut word by word, since no token
// reaches from one word into the next: the memory is that of the longest word, 24 bytes a byte.
//
// Construction fails (kFile) where only some byte tokens exist, or none and no unknown token, and
// as CharacterMap does. encode() throws (kRequest) where the character map makes more than 512 MiB
// of a text.
#pragma once

#include <array>

#include "tokenizer/encoder.h"
#include "tokenizer/unigram_normalizer.h"

namespace hearth {

class UnigramEncoder : public Encoder {
 public:
  // `vocab` must outlive the encoder; its character map and `index` are not needed afterwards.
  UnigramEncoder(const Vocab& vocab, const TokenIndex& index);

  void encode(std::string_view text, Before before, Encoding& out) const override;

 private:
  struct Step;
  struct Cut;

  void set_scores(const Vocab& vocab);
  void set_byte_ids(const Vocab& vocab);
  // Fills `cuts` with the tokens of `text`, the last one first. `rounded` is the sum of scores, in
  // single precision, of all text before `text`; afterwards it includes `text`.
  void find_best(std::string_view text, float* rounded, std::vector<Step>& steps,
                 std::vector<Cut>& cuts, Pace& pace) const;
  // Extends the best path to `start` by every token that begins there, and returns the length of
  // the character at `start`.
  size_t walk(std::string_view text, size_t start, std::vector<Step>& steps) const;

  UnigramNormalizer normalizer_;
  PieceTrie pieces_;
  std::vector<double> scores_;  // by id
  float unknown_score_ = 0;
  int32_t unk_;
  std::array<int32_t, 256> byte_ids_;
  bool has_bytes_ = false;
  bool words_apart_ = true;
};

}  // namespace hearth
