// Makes scripts with which a shell completes the program's words: verbs, their options, names of
// models on this machine, and otherwise files.
#pragma once

#include <string>
#include <vector>

#include "setup/option_tree.h"

namespace hearth {

// Returns the shells that there are scripts for.
std::vector<std::string> completion_shells();

// Returns the script for one of these shells.
std::string completion_script(const std::string& shell, const OptionTree& tree);

}  // namespace hearth
