// Pattern: a regular expression of a tokenizer, or a literal text, searched with PCRE2 over UTF-8,
// compiled to machine code where the system allows. Regular expressions have Oniguruma's syntax
// (tokenizer/pattern_spelling.h), and matches follow each other as in that library: an empty match
// where the last one ended does not count.
//
// Errors: kFile, naming the file and the pattern, where PCRE2 refuses it. kRequest, naming the
// pattern, where matching takes too many steps: a file's pattern is hostile, and may try more ways
// to match a text than there are atoms in the universe.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/pace.h"
#include "formats/text_rules.h"

namespace hearth {

// The memory that matching needs; no two threads may use one at a time.
class MatchMemory {
 public:
  // `pace` is the pace of the work that includes the matching; null: none.
  explicit MatchMemory(Pace* pace = nullptr);
  ~MatchMemory();

 private:
  friend class Pattern;
  struct Made;
  std::unique_ptr<Made> made_;
  Pace* pace_;
};

class Pattern {
 public:
  // `file` is the name for messages.
  Pattern(const TextPattern& pattern, std::string_view file);
  Pattern(Pattern&&) noexcept;
  ~Pattern();

  // The place of a search that goes through the matches in a text from left to right.
  struct Cursor {
    size_t begin = 0, end = 0;  // the match
    size_t from = 0;
    std::optional<size_t> last_end = std::nullopt;
  };
  // Finds the next match. `text` is well-formed UTF-8, and the same in every call.
  bool next(std::string_view text, Cursor* cursor, MatchMemory& memory) const;

 private:
  struct Code;
  std::string shown_;
  std::unique_ptr<Code> code_;
};

}  // namespace hearth
