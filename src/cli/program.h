// Runs the program: finds the verb in the words of the command line, and turns errors into one
// sentence on standard error and an exit status: 2 for an invalid command line, 1 for an error of a
// file, a request or the machine, 130 for Ctrl-C.
//
// Each verb is in a file verb_NAME.cc. add_NAME() declares it with its options and, where the
// command line names it, sets `action`. The action runs after parsing, returns the exit status and
// throws hearth::Error.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/cli11.h"
#include "cli/configured_words.h"
#include "setup/option_tree.h"

namespace hearth {

// `words` are the command line without the program's name.
int run_program(const std::vector<std::string>& words);

using Action = std::function<int()>;

// Returns the program's verbs and options as data, from their declarations in CLI11.
OptionTree option_tree(const CLI::App& program);

void add_run(CLI::App& program, Action& action);
// `given` has the command line's words, complete when the action runs.
void add_serve(CLI::App& program, Action& action, const GivenWords& given);
void add_embed(CLI::App& program, Action& action);
void add_inspect(CLI::App& program, Action& action);
void add_tokenize(CLI::App& program, Action& action);
void add_perplexity(CLI::App& program, Action& action);
void add_logits(CLI::App& program, Action& action);
void add_pull(CLI::App& program, Action& action);
void add_list(CLI::App& program, Action& action);
void add_remove(CLI::App& program, Action& action);
void add_quantize(CLI::App& program, Action& action);
void add_bench(CLI::App& program, Action& action);
void add_chat(CLI::App& program, Action& action);
void add_completion(CLI::App& program, Action& action);
// `file` is the value of --config.
void add_config(CLI::App& program, Action& action, const std::optional<std::string>& file);
void add_chat_format(CLI::App& program, Action& action);
void add_gpu(CLI::App& program, Action& action);
void add_doctor(CLI::App& program, Action& action);
void add_grammar(CLI::App& program, Action& action);
void add_topo(CLI::App& program, Action& action);
void add_tune(CLI::App& program, Action& action);
void add_version(CLI::App& program, Action& action);

}  // namespace hearth
