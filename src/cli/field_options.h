// Translates the field names in the library's errors to command line options.
#pragma once

#include <string>

#include "base/error.h"

namespace hearth {

// Returns the error's sentence with options: "temperature is 200; ..." becomes "--temp is 200;
// ...".
std::string command_line_text(const Error& error);

}  // namespace hearth
