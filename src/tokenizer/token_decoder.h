// TokenDecoder makes text of tokens by the decoder of a tokenizer.json.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/vocab.h"
#include "tokenizer/pattern.h"

namespace hearth {

class TokenDecoder {
 public:
  // Decodes tokens of `vocab`, which has rules. If there are no decoding steps and the
  // pre-tokenizer spelled bytes, byte-level characters become bytes again. Throws as Pattern does;
  // (kUnsupported) if a step after the one that fuses tokens cannot be applied to a stream; (kFile)
  // where a token of the vocabulary cannot be decoded, so that this cannot happen during
  // generation.
  explicit TokenDecoder(const Vocab& vocab);

  // Returns the bytes of a token of the vocabulary that is not a special one.
  std::string bytes(std::string_view token) const;
  // Returns whether tokens are spelled in the byte-level alphabet.
  bool spells_bytes() const { return spells_bytes_; }

  // Return the text that is stripped from the beginning and the end of a whole text, and how many
  // times at most that is done.
  std::string_view stripped() const { return stripped_; }
  size_t stripped_begin() const { return stripped_begin_; }
  size_t stripped_end() const { return stripped_end_; }

 private:
  struct Step {
    DecodeStep what;
    std::vector<Pattern> pattern;  // one, where the step has a pattern
  };

  void try_all(const Vocab& vocab) const;
  std::string apply(const Step& step, std::string text, std::optional<MatchMemory>* memory) const;

  std::vector<Step> steps_;
  std::string stripped_ = " ";
  size_t stripped_begin_ = 0, stripped_end_ = 0;
  bool spells_bytes_ = false;
};

}  // namespace hearth
