#include "tokenizer/character_map.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace hearth {

namespace {

constexpr uint32_t kLabelBits = 0x800000FF;
constexpr uint32_t kValueBits = 0x7FFFFFFF;

uint32_t offset_of(uint32_t unit) { return unit >> 10 << ((unit >> 9 & 1) * 8); }

[[noreturn]] void fail_damaged(const std::string& source, std::string_view why) {
  fail(ErrorCode::kFile,
       "{}: tokenizer.ggml.precompiled_charsmap {}; the file is damaged: get or convert it again",
       source, why);
}

}  // namespace

CharacterMap::CharacterMap(std::string_view bytes, const std::string& source) {
  if (bytes.empty()) return;
  uint32_t trie_bytes = 0;
  if (bytes.size() < sizeof trie_bytes) fail_damaged(source, "is too short for its trie's length");
  std::memcpy(&trie_bytes, bytes.data(), sizeof trie_bytes);
  bytes.remove_prefix(sizeof trie_bytes);
  if (trie_bytes > bytes.size() || trie_bytes % sizeof(uint32_t) != 0 || trie_bytes == 0) {
    fail_damaged(source, fmt::format("has {} bytes for a trie of {}, which must be a multiple of 4",
                                     bytes.size(), trie_bytes));
  }
  units_.resize(trie_bytes / sizeof(uint32_t));
  std::memcpy(units_.data(), bytes.data(), trie_bytes);
  replacements_ = bytes.substr(trie_bytes);
  for (size_t at = 0; at < replacements_.size();) {
    size_t end = replacements_.find('\0', at);
    if (end == std::string::npos) fail_damaged(source, "does not end its last replacement");
    if (end - at > kMaxReplacementBytes) {
      fail_damaged(source,
                   fmt::format("replaces a character by {} bytes, more than the limit of {}",
                               end - at, kMaxReplacementBytes));
    }
    at = end + 1;
  }
  find_taken();
}

CharacterMap::Place CharacterMap::root() const { return {offset_of(units_[0]), false}; }

bool CharacterMap::step(Place* place, uint8_t byte) const {
  uint32_t at = place->children ^ byte;
  if (byte == 0 || at >= units_.size()) return false;
  uint32_t unit = units_[at];
  if ((unit & kLabelBits) != byte) return false;
  place->children = at ^ offset_of(unit);
  place->ends = (unit >> 8 & 1) != 0;
  return true;
}

void CharacterMap::find_taken() {
  for (uint8_t first = 0; first < 128; ++first) {
    Place place = root();
    if (!step(&place, first)) continue;
    bool taken = place.ends;
    for (uint8_t second = 0; second < 128 && !taken; ++second) {
      Place next = place;
      taken = step(&next, second);
    }
    taken_.set(first, taken);
  }
}

CharacterMap::Match CharacterMap::longest_prefix(std::string_view text) const {
  Match match;
  if (units_.empty()) return match;
  Place place = root();
  for (size_t i = 0; i < std::min(text.size(), kMaxSequenceBytes); ++i) {
    if (!step(&place, static_cast<uint8_t>(text[i]))) break;
    if (!place.ends || place.children >= units_.size()) continue;
    uint32_t value = units_[place.children] & kValueBits;
    if (value < replacements_.size()) match = {i + 1, replacements_.data() + value};
  }
  return match;
}

}  // namespace hearth
