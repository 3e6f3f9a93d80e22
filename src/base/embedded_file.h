// A file whose bytes are compiled into the program (cmake/hearth_embed.cmake), valid as long as it
// runs.
#pragma once

#include <span>
#include <string_view>

namespace hearth {

struct EmbeddedFile {
  std::string_view name;  // its path in the module's folder
  std::string_view bytes;
};

}  // namespace hearth
