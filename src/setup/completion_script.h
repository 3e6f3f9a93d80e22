// Scripts that let a shell complete the program's words: verbs, their options, names of models that
// are here, and else files.
#pragma once

#include <string>
#include <vector>

#include "setup/option_tree.h"

namespace hearth {

// The shells that there are scripts for.
std::vector<std::string> completion_shells();

// `shell`: one of them.
std::string completion_script(const std::string& shell, const OptionTree& tree);

}  // namespace hearth
