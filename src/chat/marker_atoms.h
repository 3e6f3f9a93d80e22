// Cuts a template's text into atoms, at whose borders markers may begin and end: tags ("<think>",
// "[TOOL_CALLS]"), words, runs of white space, and single other characters. Texts are compared by
// atoms, so that "<tool_call>" and "<think>" do not share their first two bytes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hearth {

std::vector<std::string_view> marker_atoms(std::string_view text);

// Whether an atom is a tag.
bool is_tag_atom(std::string_view atom);

// Return the length in bytes of the atoms that both texts begin, or end, with; an ending is at most
// 4 KiB.
size_t common_beginning(std::string_view a, std::string_view b);
size_t common_ending(std::string_view a, std::string_view b);

std::string without_any_space(std::string_view text);

}  // namespace hearth
