#include "cli/program.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <new>

#include "base/error.h"
#include "base/tell.h"
#include "cli/field_options.h"
#include "cli/suggest.h"
#include "cli/text_io.h"

namespace hearth {
namespace {

constexpr int kUsageStatus = 2, kFailureStatus = 1;
constexpr size_t kHelpColumn = 34;

void print_error(const std::string& sentence) { tell("hearth: {}\n", sentence); }

void add_verbs(CLI::App& program, Action& action) {
  program.name("hearth");
  program.get_formatter()->column_width(kHelpColumn);
  add_serve(program, action);
  add_run(program, action);
  add_chat(program, action);
  add_pull(program, action);
  add_list(program, action);
  add_remove(program, action);
  add_embed(program, action);
  add_inspect(program, action);
  add_tokenize(program, action);
  add_perplexity(program, action);
  add_logits(program, action);
  add_quantize(program, action);
  add_chat_format(program, action);
  add_grammar(program, action);
  add_bench(program, action);
  add_topo(program, action);
  add_gpu(program, action);
  add_tune(program, action);
  add_version(program, action);
  program.require_subcommand(1);
  program.footer(
      "`hearth VERB --help` tells a verb's options.\n"
      "Examples:\n"
      "  hearth pull unsloth/Qwen3-4B-GGUF\n"
      "  hearth serve model.gguf\n"
      "  hearth chat model.gguf\n"
      "  hearth run model.gguf -p 'Once upon a time'\n"
      "  hearth inspect model.gguf");
}

std::vector<std::string> verb_names(const CLI::App& program) {
  std::vector<std::string> names;
  for (const CLI::App* verb : program.get_subcommands({})) names.push_back(verb->get_name());
  return names;
}

// The verb named on the command line; null where there is none.
const CLI::App* chosen_verb(const CLI::App& program) {
  std::vector<CLI::App*> chosen = program.get_subcommands();
  return chosen.empty() ? nullptr : chosen[0];
}

// An option that does not exist, with those that it may have been meant as.
std::string extras_sentence(const CLI::App& program) {
  std::vector<std::string> extras = program.remaining(true);
  std::string word = extras.empty() ? std::string() : extras[0];
  word = word.substr(0, word.find('='));
  const CLI::App* verb = chosen_verb(program);
  if (verb == nullptr || !word.starts_with("-")) {
    return fmt::format("'{}' is one word too many", word);
  }
  std::vector<std::string> names;
  for (const CLI::Option* option : verb->get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return fmt::format("there is no option {}{}", word, did_you_mean(word, names));
}

int usage_error(const CLI::App& program, const std::string& sentence) {
  const CLI::App* verb = chosen_verb(program);
  print_error(sentence);
  tell("Try `hearth{} --help`.\n", verb != nullptr ? " " + verb->get_name() : "");
  return kUsageStatus;
}

// `help`, `help VERB` and `--version` in the form that the parser knows.
std::vector<std::string> plain_words(const std::vector<std::string>& words) {
  if (words.size() == 1 && words[0] == "--version") return {"version"};
  if (words[0] != "help") return words;
  if (words.size() == 1) return {"--help"};
  return {words[1], "--help"};
}

int parse_and_run(const std::vector<std::string>& words) {
  CLI::App program("Serves large language models on the processors of this machine.");
  Action action;
  add_verbs(program, action);
  if (words.empty()) {
    tell_text(program.help());
    return kUsageStatus;
  }
  std::vector<std::string> plain = plain_words(words);
  std::vector<std::string> names = verb_names(program);
  if (!plain[0].starts_with('-') &&
      std::find(names.begin(), names.end(), plain[0]) == names.end()) {
    std::string meant = did_you_mean(plain[0], names);
    std::string list = meant.empty() ? fmt::format("; there are {}", fmt::join(names, ", ")) : "";
    return usage_error(program, fmt::format("there is no verb '{}'{}{}", plain[0], meant, list));
  }
  try {
    // The parser takes the words from the back.
    std::reverse(plain.begin(), plain.end());
    program.parse(std::move(plain));
  } catch (const CLI::CallForHelp&) {
    write_stdout(program.help());
    return 0;
  } catch (const CLI::ExtrasError&) {
    return usage_error(program, extras_sentence(program));
  } catch (const CLI::ParseError& error) {
    return usage_error(program, error.what());
  }
  return action();
}

}  // namespace

int run_program(const std::vector<std::string>& words) {
  try {
    return parse_and_run(words);
  } catch (const Error& error) {
    print_error(command_line_text(error));
    return error.exit_status();
  } catch (const std::bad_alloc&) {
    print_error("there is not enough memory: take a smaller model or context, or free memory");
  } catch (const std::exception& error) {
    print_error(error.what());
  }
  return kFailureStatus;
}

}  // namespace hearth
