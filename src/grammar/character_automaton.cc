#include "grammar/character_automaton.h"

#include <algorithm>

namespace hearth {
namespace {

constexpr size_t kMaxCharacterStates = 64;

}  // namespace

CodePoints plain_characters() {
  return CodePoints{{0, 0x1f}, {'"', '"'}, {'\\', '\\'}, {0x7f, 0x7f}}.complement();
}

std::optional<CharacterAutomaton> make_character_automaton(RegexSet& set, RegexId character) {
  std::vector<RegexId> states{character};
  CharacterAutomaton automaton;
  for (size_t at = 0; at < states.size(); ++at) {
    std::vector<uint8_t> by_class(set.classes(), kNoState);
    for (uint8_t byte : set.representatives()) {
      RegexId rest = set.derive(states[at], byte);
      if (set.is_nothing(rest)) continue;
      if (rest == set.empty()) rest = character;
      size_t known = static_cast<size_t>(std::ranges::find(states, rest) - states.begin());
      if (known == states.size()) states.push_back(rest);
      by_class[set.class_of(byte)] = static_cast<uint8_t>(known);
    }
    if (states.size() > kMaxCharacterStates) return std::nullopt;
    std::array<uint8_t, 256>& row = automaton.emplace_back();
    for (uint32_t byte = 0; byte < 256; ++byte) {
      row[byte] = by_class[set.class_of(static_cast<uint8_t>(byte))];
    }
  }
  return automaton;
}

}  // namespace hearth
