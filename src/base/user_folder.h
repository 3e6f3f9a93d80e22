// Folders of the user that runs the process (XDG Base Directory Specification).
#pragma once

#include <optional>
#include <string>

namespace hearth {

// Returns the folder that the variable names, as XDG_CONFIG_HOME does, else HOME's `otherwise`,
// ".config". A relative path counts as none, as the specification wants. None where neither is
// known.
std::optional<std::string> user_folder(const char* variable, const char* otherwise);

}  // namespace hearth
