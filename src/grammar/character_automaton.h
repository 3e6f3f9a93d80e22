// CharacterAutomaton: texts of characters of a set, as an automaton over bytes:
// automaton[state][byte] is the next state. State 0 is between characters, kNoState is none.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "grammar/code_points.h"
#include "grammar/regex_set.h"

namespace hearth {

using CharacterAutomaton = std::vector<std::array<uint8_t, 256>>;

inline constexpr uint8_t kNoState = 255;

// `character` matches the characters, each as a whole. Nothing where that takes many states.
std::optional<CharacterAutomaton> make_character_automaton(RegexSet& set, RegexId character);

// Returns the characters that JSON's strings have without an escape.
CodePoints plain_characters();

}  // namespace hearth
