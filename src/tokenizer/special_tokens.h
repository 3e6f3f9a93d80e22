// SpecialTokens cuts text at the tokens that are matched as they are written: user-defined ones
// always, control and unknown tokens where the caller trusts the text to hold them. In a unigram
// vocabulary the encoder finds user-defined tokens itself, as SentencePiece does, but for those
// that nobody may forge.
//
// Longer tokens are looked for first, over the whole text, and each from left to right: a token
// never takes a part of a longer one's match. A vocabulary with rules of tokenizer.json is searched
// once from left to right, at every place for the longest token, as Hugging Face's tokenizers do.
// What vocab.added says of a token holds: it may stand alone only, or swallow the white space
// beside it.
//
// In bytes that a stranger wrote (`foreign`), beside a program's own, nobody may forge a control
// token: a match that touches one of these bytes is none. User-defined tokens are text that anyone
// may write (runs of spaces, HTML tags, "<think>") and are found in them as everywhere, but for
// those that look like the markers of turns, which some converters give the wrong type:
// "<|...|>", the same with full-width bars, "<..._of_turn>", upper-case names in square brackets
// such as "[INST]", and the vocabulary's own BOS and tokens that end a generation.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/pace.h"
#include "formats/vocab.h"

namespace hearth {

// A part is a special token, or text between special tokens that is not empty.
struct TextPart {
  std::string_view text;
  int32_t token = Vocab::kNone;
};

// Whether nobody may forge the token: control and unknown tokens, and those user-defined ones that
// are markers of turns as said above. No encoder makes one of these from the pieces of its text.
bool is_guarded_token(const Vocab& vocab, int32_t id);

class SpecialTokens {
 public:
  using ByteRanges = std::span<const std::pair<size_t, size_t>>;  // [begin, end), sorted, disjoint

  // Tokens that are found as they are written. `vocab` must outlive the object.
  explicit SpecialTokens(const Vocab& vocab);
  // Finds tokens in normalised text, where `normalize` makes it.
  SpecialTokens(const Vocab& vocab, const std::function<std::string(std::string_view)>& normalize);

  bool empty() const { return lengths_[1].empty(); }

  std::vector<TextPart> partition(std::string_view text, bool parse_special,
                                  ByteRanges foreign = {}, Pace* pace = nullptr) const;

 private:
  struct Entry {
    std::string text;
    int32_t id;
  };
  struct Length {
    size_t bytes;
    std::bitset<256> first;      // bytes that a token of this length begins with
    std::vector<Entry> entries;  // sorted by text
  };
  struct Search {
    std::string_view text;
    size_t offset;  // of `text` in the whole
    ByteRanges foreign;
  };

  bool is_sought(int32_t id, bool with_control, bool normalized) const;
  static std::vector<Length> lengths_of(std::vector<Entry> entries);
  static int32_t find(const Length& length, std::string_view text);
  // The token of this length at `at`, if it may stand there.
  int32_t match(const Length& length, const Search& search, size_t at) const;
  // Takes the token at [begin, end), with the white space that it swallows, unless it must stand
  // alone and does not. `done`: where the text not yet taken begins.
  void take(std::string_view text, int32_t id, size_t begin, size_t end, size_t* done,
            std::vector<TextPart>& parts) const;
  void cut(const Length& length, const Search& search, std::vector<TextPart>& parts) const;
  void scan(const std::vector<Length>& lengths, const Search& search,
            std::vector<TextPart>& parts) const;

  const Vocab& vocab_;
  // The longest tokens come first. There are two lists: user-defined tokens alone, and all.
  std::array<std::vector<Length>, 2> lengths_;
};

}  // namespace hearth
