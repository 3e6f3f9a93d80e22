// TokenDecoder makes text of tokens as a tokenizer.json says.
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
  // Decodes tokens of `vocab`, which has rules. Without steps that decode, bytes are spelled out
  // where they were spelled for cutting. Throws as Pattern does, and (kUnsupported) where a step
  // behind the fusing is one that this program cannot do to a stream; (kFile) where the bytes of a
  // token of the vocabulary cannot be told: then none is met while text is generated.
  explicit TokenDecoder(const Vocab& vocab);

  // The bytes of a token of the vocabulary that is no special one.
  std::string bytes(std::string_view token) const;
  // Whether tokens are spelled in the byte-level alphabet.
  bool spells_bytes() const { return spells_bytes_; }

  // Return the text that is taken away at the beginning and the end of a whole text, and how often.
  std::string_view stripped() const { return stripped_; }
  size_t stripped_begin() const { return stripped_begin_; }
  size_t stripped_end() const { return stripped_end_; }

 private:
  struct Step {
    DecodeStep what;
    std::vector<Pattern> pattern;  // one, of a step that has one
  };

  void try_all(const Vocab& vocab) const;
  std::string apply(const Step& step, std::string text, std::optional<MatchMemory>* memory) const;

  std::vector<Step> steps_;
  std::string stripped_ = " ";
  size_t stripped_begin_ = 0, stripped_end_ = 0;
  bool spells_bytes_ = false;
};

}  // namespace hearth
