// Sizes in bytes as text for people.
#pragma once

#include <cstdint>
#include <string>

namespace hearth {

// Returns "1.50 GiB", "320 B".
std::string bytes_text(uint64_t bytes);

}  // namespace hearth
