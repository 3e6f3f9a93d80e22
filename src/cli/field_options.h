// The options by which the command line calls the fields that the library's errors name.
#pragma once

#include <string>

#include "base/error.h"

namespace hearth {

// The error's sentence in the words of the command line: "temperature is 200; ..." becomes "--temp
// is 200; ...".
std::string command_line_text(const Error& error);

}  // namespace hearth
