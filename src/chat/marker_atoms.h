// Text that a template wrote, cut where markers may begin and end: at tags ("<think>",
// "[TOOL_CALLS]"), words, runs of white space, and all other characters one by one. Comparing
// atoms keeps "<tool_call>" and "<think>" from sharing their first two bytes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hearth {

std::vector<std::string_view> marker_atoms(std::string_view text);

// Whether an atom is a tag.
bool is_tag_atom(std::string_view atom);

// Bytes that both texts begin, or end, with in the same atoms; of an ending 4 KiB at most.
size_t common_beginning(std::string_view a, std::string_view b);
size_t common_ending(std::string_view a, std::string_view b);

std::string without_any_space(std::string_view text);

}  // namespace hearth
