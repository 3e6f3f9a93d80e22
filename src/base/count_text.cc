#include "base/count_text.h"

#include <fmt/format.h>

namespace hearth {

std::string count_text(size_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

}  // namespace hearth
