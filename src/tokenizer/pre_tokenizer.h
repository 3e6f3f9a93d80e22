// Pre-tokenizers: how BPE splits text into pieces before it merges inside each piece. A
// pre-tokenizer is a sequence of steps: each step splits the pieces that the step before made.
//
// Rules by name: names are those of `tokenizer.ggml.pre` in GGUF files. Each pattern splits at the
// borders of its matches (text between matches is a piece, too), so the concatenation of the pieces
// is the text. The patterns are the ones published in the models' own tokenizer.json, run by PCRE2
// over UTF-8; docs/tokenizers.md lists them, and where llama.cpp's approximations of them differ.
//
// Steps of a tokenizer.json (formats/text_rules.h) may also drop text and change it.
#pragma once

#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/text_rules.h"
#include "tokenizer/pattern.h"

namespace hearth {

struct PreTokenizerRule {
  std::span<const std::string_view> patterns;
  // Whether a piece that is a token as a whole becomes that token even if merges do not lead to it.
  bool whole_tokens = false;
  // Whether BOS is put before the text where the file does not say.
  bool add_bos = false;
  // Whether the models' own tokenizer.json first normalises text to NFC.
  bool nfc = false;
};

// Returns the rule, or nullptr where the name is not known.
const PreTokenizerRule* find_pre_tokenizer(std::string_view name);
// Returns all names for messages, sorted, as "a, b, c".
std::string pre_tokenizer_names();

// The pieces of a text: views into it, or into the strings of `made`.
struct TextPieces {
  std::vector<std::string_view> pieces;  // none is empty
  std::deque<std::string> made;
};

class PreTokenizer {
 public:
  explicit PreTokenizer(const PreTokenizerRule& rule);
  // `file` is the name for messages. Throws as Pattern does.
  PreTokenizer(std::span<const CutStep> steps, std::string_view file);

  // Replaces `pieces` by those of `text`, which is well-formed UTF-8. `at_start`: no text stands
  // before it. Thread-safe if every thread passes a different `memory`. Throws as Pattern::next().
  void split(std::string_view text, bool at_start, MatchMemory& memory, TextPieces& pieces) const;

  // Returns whether the caller has to spell the bytes of pieces in the byte-level alphabet; if a
  // step spells bytes, pieces are spelled already.
  bool spells_bytes() const { return spells_bytes_; }

 private:
  struct Step {
    CutStep what;
    std::optional<Pattern> pattern;
    bool spell = false;    // the step spells the bytes of pieces, because another step follows
    bool literal = false;  // the pattern is a literal text
  };

  void add(const CutStep& step, std::string_view file);
  void cut(const Step& step, std::string_view piece, MatchMemory& memory,
           std::vector<std::string_view>& out) const;
  // Appends the pieces of `piece`, or of the text that the step makes of it, and returns that text.
  std::string_view apply(const Step& step, std::string_view piece, bool at_start,
                         MatchMemory& memory, TextPieces& out) const;

  std::vector<Step> steps_;
  bool spells_bytes_ = false;
};

}  // namespace hearth
