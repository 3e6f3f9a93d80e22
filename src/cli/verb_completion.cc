// hearth completion: prints a completion script for a shell.
#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "cli/options.h"
#include "cli/program.h"
#include "cli/text_io.h"
#include "setup/completion_script.h"

namespace hearth {

void add_completion(CLI::App& program, Action& action) {
  CLI::App& verb = *program.add_subcommand("completion", "Print a completion script for a shell");
  auto shell = std::make_shared<std::string>();
  add_choice(verb, "SHELL", shell.get(), completion_shells(), "The shell")->required();
  add_examples(verb,
               "  hearth completion bash > ~/.local/share/bash-completion/completions/hearth\n"
               "  hearth completion zsh > ~/.zfunc/_hearth\n"
               "  hearth completion fish > ~/.config/fish/completions/hearth.fish");
  verb.callback([shell, &program, &action] {
    action = [shell, &program] {
      write_stdout(completion_script(*shell, option_tree(program)));
      return 0;
    };
  });
}

}  // namespace hearth
