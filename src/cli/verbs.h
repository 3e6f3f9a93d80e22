// The verbs of the program, one verb_NAME.cc each. add_NAME() declares the verb with its options
// and, where the command line names it, sets `action` to what it does. The action runs after
// parsing, returns the exit status and throws hearth::Error.
#pragma once

#include <functional>

#include "cli/cli11.h"

namespace hearth {

using Action = std::function<int()>;

void add_run(CLI::App& program, Action& action);
void add_serve(CLI::App& program, Action& action);
void add_embed(CLI::App& program, Action& action);
void add_inspect(CLI::App& program, Action& action);
void add_tokenize(CLI::App& program, Action& action);
void add_perplexity(CLI::App& program, Action& action);
void add_logits(CLI::App& program, Action& action);
void add_bench(CLI::App& program, Action& action);
void add_topo(CLI::App& program, Action& action);
void add_tune(CLI::App& program, Action& action);
void add_version(CLI::App& program, Action& action);

}  // namespace hearth
