// CharacterMap: the table that a SentencePiece model normalises its text with
// (`precompiled_charsmap`; Kudo and Richardson, arXiv 1808.06226, section 3.2): sequences of
// characters and what stands for each. In a file it is
//   4 bytes: N, little endian
//   N bytes: a double-array trie over the bytes of the sequences, in units of 32 bits as
//            Darts-clone writes them: bits 0 to 7 and 31 the label, bit 8 whether a sequence ends
//            here, bits 10 to 30 the offset to the children, times 256 where bit 9 is set. The
//            child of the unit at i by byte b is at i ^ offset ^ b and has the label b. Where a
//            sequence ends at i, the unit at i ^ offset holds its value in the low 31 bits, so no
//            sequence holds a NUL.
//   the rest: the replacements, each ended by a NUL; a value is the place where one begins
//
// The bytes may be hostile, so every step is checked against the bounds. Where the trie leads out
// of itself or to no replacement, no sequence is found. Where it has a cycle, a sequence ends after
// kMaxSequenceBytes. Construction fails (kFile) where sizes contradict each other, the last
// replacement has no end, or a replacement is longer than kMaxReplacementBytes, which could make a
// huge text of a short one.
#pragma once

#include <bitset>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hearth {

class CharacterMap {
 public:
  // NFKC's longest sequence has 18 bytes, its longest replacement 33.
  static constexpr size_t kMaxSequenceBytes = 128;
  static constexpr size_t kMaxReplacementBytes = 256;

  struct Match {
    size_t length = 0;             // the length of the sequence in the text; 0: none matches
    std::string_view replacement;  // points into the map's own memory
  };

  // An empty map, which replaces nothing.
  CharacterMap() = default;
  // Reads the map from a file's bytes, which may be empty; `source` is for messages.
  CharacterMap(std::string_view bytes, const std::string& source);

  // Returns the longest sequence that `text` begins with.
  Match longest_prefix(std::string_view text) const;

  // Returns whether the ASCII character `c` stays as it is before another ASCII character or the
  // end, since every sequence that begins with it contains a non-ASCII character next.
  bool keeps(uint8_t c) const { return !taken_.test(c); }

 private:
  struct Place {
    uint32_t children;  // the base of the children: the child by byte b is at children ^ b
    bool ends;          // a sequence ends here
  };

  Place root() const;
  // Follows `byte` to a child; returns false if there is no such child.
  bool step(Place* place, uint8_t byte) const;
  void find_taken();

  std::vector<uint32_t> units_;
  std::string replacements_;
  std::bitset<128> taken_;
};

}  // namespace hearth
