// TextNormalizer normalises text before it is split, by the steps of a tokenizer.json: NFC, a
// prefix, replaced patterns. Bytes that are not UTF-8 are unchanged.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/text_rules.h"
#include "tokenizer/pattern.h"

namespace hearth {

class TextNormalizer {
 public:
  // `file` is the name for messages. Throws as Pattern does.
  TextNormalizer(std::span<const NormalizeStep> steps, std::string_view file);

  bool empty() const { return steps_.empty(); }

  // A text, and for each of its bytes whether it comes from untrusted text; `untrusted` is empty
  // where no byte does.
  struct Marked {
    std::string text;
    std::vector<uint8_t> untrusted;
  };
  // Returns the normalised text. Throws as Pattern::next(), and (kRequest) where it has more than
  // `most` bytes.
  Marked run(Marked text, size_t most, MatchMemory& memory) const;

 private:
  struct Step {
    NormalizeStep what;
    std::vector<Pattern> pattern;  // one, where the step has a pattern
  };

  std::vector<Step> steps_;
};

}  // namespace hearth
