// CharacterAutomaton: an automaton over bytes that matches any text of characters of a set:
// automaton[state][byte] is the next state. In state 0 a character has ended; kNoState: no match.
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

// Makes the automaton; `character` must match each of the characters as a whole. None where too
// many states would be needed.
std::optional<CharacterAutomaton> make_character_automaton(RegexSet& set, RegexId character);

// Returns the characters that JSON's strings have without an escape.
CodePoints plain_characters();

}  // namespace hearth
