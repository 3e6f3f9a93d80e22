// Numbers of things as text for people.
#pragma once

#include <cstddef>
#include <string>

namespace hearth {

// Returns "1 core", "3 cores".
std::string count_text(size_t count, const char* what);

}  // namespace hearth
