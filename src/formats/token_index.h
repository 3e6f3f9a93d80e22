// TokenIndex finds tokens by their text, by binary search in a sorted table: a hostile vocabulary
// could aim for a hash table's worst case. It takes 16 bytes a token; the texts stay the caller's
// and must outlive the index. Empty texts are never found; for a text that stands twice, find()
// returns the last id.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hearth {

class TokenIndex {
 public:
  static constexpr int32_t kNone = -1;
  struct Match {
    int32_t id = kNone;
    size_t length = 0;
  };

  explicit TokenIndex(std::span<const std::string> tokens);

  // Returns the id of the token, or kNone.
  int32_t find(std::string_view text) const;
  // Returns the longest token that `text` begins with.
  Match longest_prefix(std::string_view text) const;
  // Returns the ids of all texts in the order of their bytes; for a text that stands twice, the
  // last.
  std::vector<int32_t> sorted_ids() const;
  // Returns how many texts stand more than once.
  size_t duplicates() const { return duplicates_; }

 private:
  // The first 8 bytes as a big-endian number, which decide most comparisons without a look at the
  // text.
  struct Entry {
    uint64_t head;
    int32_t id;
  };

  // Returns the index of the first entry above `text`.
  size_t upper_bound(std::string_view text) const;

  std::span<const std::string> tokens_;
  std::vector<Entry> entries_;
  size_t duplicates_ = 0;
};

}  // namespace hearth
