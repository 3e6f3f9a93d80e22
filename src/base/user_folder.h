// The user's folders (XDG Base Directory Specification).
#pragma once

#include <optional>
#include <string>

namespace hearth {

// Returns the folder that `variable` names, such as XDG_CONFIG_HOME, else `otherwise` (".config")
// in HOME. A relative path is ignored, as the specification demands. None where neither is set.
std::optional<std::string> user_folder(const char* variable, const char* otherwise);

}  // namespace hearth
