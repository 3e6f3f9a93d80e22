// The program: from the words of the command line to a verb, and from what went wrong to one
// sentence on standard error and an exit status: 2 for a command line that cannot be, 1 for what a
// file, a request or the machine refused, 130 for Ctrl-C.
#pragma once

#include <string>
#include <vector>

namespace hearth {

// `words` without the program's name.
int run_program(const std::vector<std::string>& words);

}  // namespace hearth
