// A file whose bytes are part of the program (cmake/hearth_embed.cmake). They live as long as it.
#pragma once

#include <span>
#include <string_view>

namespace hearth {

struct EmbeddedFile {
  std::string_view name;  // its path in the folder of the module
  std::string_view bytes;
};

}  // namespace hearth
