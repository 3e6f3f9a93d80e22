#include "base/user_folder.h"

#include <cstdlib>

namespace hearth {

std::optional<std::string> user_folder(const char* variable, const char* otherwise) {
  const char* own = std::getenv(variable);
  if (own != nullptr && *own == '/') return own;
  const char* home = std::getenv("HOME");
  if (home == nullptr || *home == '\0') return std::nullopt;
  return std::string(home) + "/" + otherwise;
}

}  // namespace hearth
