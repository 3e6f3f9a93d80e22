// TextNormalizer does what a tokenizer.json says is done to text before it is cut: NFC, something
// put before it, patterns replaced. Bytes that are not UTF-8 stay as they are.
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
  // `file`: for messages. Throws as Pattern does.
  TextNormalizer(std::span<const NormalizeStep> steps, std::string_view file);

  bool empty() const { return steps_.empty(); }

  // A text, and of each of its bytes whether a stranger wrote it, or something that it was made of;
  // without bytes, none.
  struct Marked {
    std::string text;
    std::vector<uint8_t> foreign;
  };
  // Throws as Pattern::next(), and (kRequest) where more than `most` bytes come of the text.
  Marked run(Marked text, size_t most, MatchMemory& memory) const;

 private:
  struct Step {
    NormalizeStep what;
    std::vector<Pattern> pattern;  // one, of a step that has one
  };

  std::vector<Step> steps_;
};

}  // namespace hearth
