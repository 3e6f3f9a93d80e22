// SpecialTokens splits text at the tokens that are found by their spelling: user-defined ones
// always, control and unknown tokens where the caller trusts the text to hold them. In a unigram
// vocabulary the encoder itself finds user-defined tokens, as SentencePiece does, except guarded
// ones.
//
// The text is searched for one length of tokens after the other, the longest first, each time from
// left to right. So a token never takes a part of a longer one's match. A vocabulary with rules of
// tokenizer.json is searched once from left to right, at every place for the longest token, as
// Hugging Face's tokenizers do. The rules of vocab.added apply: a token may have to stand alone, or
// take the white space beside it.
//
// Untrusted bytes (`untrusted`) may stand in a text beside the program's own. A match of a control
// token that touches one of them does not count. User-defined tokens are text that anyone may write
// (runs of spaces, HTML tags, "<think>") and are found everywhere, but for those that look like
// markers of chat turns, which some converters give the wrong type: "<|...|>", the same with
// full-width bars, "<..._of_turn>", upper-case names in square brackets such as "[INST]", and the
// vocabulary's own BOS and tokens that end a generation.
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

// A special token, or a non-empty text between special tokens.
struct TextPart {
  std::string_view text;
  int32_t token = Vocab::kNone;
};

// Returns whether untrusted text must not become the token: control and unknown tokens, and
// user-defined ones that look like markers of turns, as described at the top. No encoder makes one
// of these by merging.
bool is_guarded_token(const Vocab& vocab, int32_t id);

class SpecialTokens {
 public:
  using ByteRanges = std::span<const std::pair<size_t, size_t>>;  // [begin, end), sorted, disjoint

  // Finds tokens in text as it is written. `vocab` must outlive the object.
  explicit SpecialTokens(const Vocab& vocab);
  // Finds tokens in normalised text, as `normalize` makes it.
  SpecialTokens(const Vocab& vocab, const std::function<std::string(std::string_view)>& normalize);

  bool empty() const { return lengths_[1].empty(); }

  std::vector<TextPart> partition(std::string_view text, bool parse_special,
                                  ByteRanges untrusted = {}, Pace* pace = nullptr) const;

 private:
  struct Entry {
    std::string text;
    int32_t id;
  };
  struct Length {
    size_t bytes;
    std::bitset<256> first;      // the first bytes of tokens of this length
    std::vector<Entry> entries;  // sorted by text
  };
  struct Search {
    std::string_view text;
    size_t offset;  // the position of `text` in the whole text
    ByteRanges untrusted;
  };

  bool is_sought(int32_t id, bool with_control, bool normalized) const;
  static std::vector<Length> lengths_of(std::vector<Entry> entries);
  static int32_t find(const Length& length, std::string_view text);
  // Returns the token of this length at `at` that may stand there, or kNone.
  int32_t match(const Length& length, const Search& search, size_t at) const;
  // Appends the text before [begin, end) and the token there, with the white space that it takes;
  // does nothing if the token may only stand alone and other text is beside it. `done` is the end
  // of the text that was taken.
  void take(std::string_view text, int32_t id, size_t begin, size_t end, size_t* done,
            std::vector<TextPart>& parts) const;
  void cut(const Length& length, const Search& search, std::vector<TextPart>& parts) const;
  void scan(const std::vector<Length>& lengths, const Search& search,
            std::vector<TextPart>& parts) const;

  const Vocab& vocab_;
  // Tokens by length, the longest first: the first list has only user-defined tokens, the second
  // all special tokens.
  std::array<std::vector<Length>, 2> lengths_;
};

}  // namespace hearth
