// Makes character maps for tests and fuzzers, in memory, as SentencePiece's trainer writes them
// (tokenizer/character_map.h): slowly, and in no particular order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace hearth {

class CharsmapMaker {
 public:
  using Rules = std::map<std::string, std::string>;

  // Returns the bytes of a map that replaces each key by its value.
  static std::string make(const Rules& rules) {
    CharsmapMaker maker;
    std::vector<std::pair<std::string, uint32_t>> keys;
    for (const auto& [key, value] : rules) {
      keys.emplace_back(key, static_cast<uint32_t>(maker.replacements_.size()));
      maker.replacements_ += value + '\0';
    }
    maker.units_.assign(1, 0);
    maker.taken_.assign(1, true);
    maker.place(0, 0, keys);
    return bytes_of({static_cast<uint32_t>(maker.units_.size() * 4)}) + bytes_of(maker.units_) +
           maker.replacements_;
  }

  // Returns the numbers' bytes as in a file.
  static std::string bytes_of(const std::vector<uint32_t>& numbers) {
    std::string bytes;
    for (uint32_t number : numbers) {
      for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(number >> shift);
    }
    return bytes;
  }

 private:
  using Keys = std::vector<std::pair<std::string, uint32_t>>;

  // Places the children of the unit at `at`, whose keys share `depth` bytes.
  void place(uint32_t at, size_t depth, const Keys& keys) {
    std::map<uint8_t, Keys> children;
    const uint32_t* value = nullptr;
    for (const auto& [key, number] : keys) {
      if (key.size() == depth) {
        value = &number;
      } else {
        children[static_cast<uint8_t>(key[depth])].emplace_back(key, number);
      }
    }
    uint32_t base = free_base(children, value != nullptr);
    bases_.insert(base);
    units_[at] |= (at ^ base) << 10 | (value != nullptr ? 1u << 8 : 0);
    if (value != nullptr) take(base, *value | 1u << 31);
    for (const auto& [label, below] : children) take(base ^ label, label);
    for (const auto& [label, below] : children) place(base ^ label, depth + 1, below);
  }

  // Returns a base that no other unit's children use: nothing but its label tells whose child a
  // unit is.
  uint32_t free_base(const std::map<uint8_t, Keys>& children, bool with_value) const {
    auto is_free = [&](uint32_t at) { return at >= taken_.size() || !taken_[at]; };
    constexpr size_t kFar = 512;  // units farther from the end are nearly all taken
    for (auto base = static_cast<uint32_t>(std::max(taken_.size(), kFar + 1) - kFar);; ++base) {
      bool fits = !bases_.contains(base) && (!with_value || is_free(base));
      for (const auto& [label, below] : children) fits = fits && is_free(base ^ label);
      if (fits) return base;
    }
  }

  void take(uint32_t at, uint32_t unit) {
    if (at >= units_.size()) {
      units_.resize(at + 1);
      taken_.resize(at + 1);
    }
    units_[at] = unit;
    taken_[at] = true;
  }

  std::vector<uint32_t> units_;
  std::vector<bool> taken_;
  std::set<uint32_t> bases_;
  std::string replacements_;
};

}  // namespace hearth
