#include "cli/program.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <new>

#include "base/error.h"
#include "base/tell.h"
#include "cli/field_options.h"
#include "cli/help_groups.h"
#include "cli/serve_options.h"
#include "cli/text_io.h"
#include "setup/foreign_words.h"
#include "setup/help_page.h"
#include "setup/near_names.h"
#include "talk/terminal_mode.h"

namespace hearth {
namespace {

constexpr int kUsageStatus = 2, kFailureStatus = 1;
constexpr size_t kPageColumns = 80, kMaxPageColumns = 120;
constexpr const char* kHelpAll = "--help-all";

void print_error(const std::string& sentence) { print_stderr("hearth: {}\n", sentence); }

// The declared program, and the results of parsing.
struct Program {
  CLI::App app{"Serves large language models on the processors of this machine."};
  GivenWords given;
  Action action;
  std::string lacks;  // an error about a missing option, which a configuration may still set
};

void add_verbs(Program* all) {
  CLI::App& program = all->app;
  Action& action = all->action;
  program.name("hearth");
  set_help_format(program);
  auto set_config = [all](const std::string& path) { all->given.file = path; };
  program
      .add_option_function<std::string>(
          "--config", set_config,
          "Read options from FILE; give it before the verb (docs/config.md)")
      ->type_name("FILE");
  add_serve(program, action, all->given);
  add_run(program, action);
  add_chat(program, action);
  add_embed(program, action);
  add_pull(program, action);
  add_list(program, action);
  add_remove(program, action);
  add_inspect(program, action);
  add_quantize(program, action);
  add_tokenize(program, action);
  add_perplexity(program, action);
  add_logits(program, action);
  add_chat_format(program, action);
  add_grammar(program, action);
  add_bench(program, action);
  add_topo(program, action);
  add_gpu(program, action);
  add_tune(program, action);
  add_doctor(program, action);
  add_config(program, action, all->given.file);
  add_completion(program, action);
  add_version(program, action);
  program.require_subcommand(1);
  program.footer(
      "`hearth VERB --help` lists a verb's options.\n"
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

// Returns the verb named on the command line; null where there is none.
const CLI::App* chosen_verb(const CLI::App& program) {
  std::vector<CLI::App*> chosen = program.get_subcommands();
  return chosen.empty() ? nullptr : chosen[0];
}

// Returns an error about an unknown option, with similar names.
std::string extras_sentence(const CLI::App& program) {
  std::vector<std::string> extras = program.remaining(true);
  std::string word = extras.empty() ? std::string() : extras[0];
  word = word.substr(0, word.find('='));
  const CLI::App* verb = chosen_verb(program);
  if (verb == nullptr || !word.starts_with("-")) {
    return fmt::format("unexpected word '{}': remove it, or put several words into quotes", word);
  }
  std::vector<std::string> names;
  for (const CLI::Option* option : verb->get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  const std::string instead = foreign_option(word);
  return fmt::format("there is no option {}{}", word,
                     instead.empty() ? did_you_mean(word, names) : ": " + instead);
}

int usage_error(const CLI::App& program, const std::string& sentence) {
  const CLI::App* verb = chosen_verb(program);
  print_error(sentence);
  print_stderr("Try `hearth{} --help`.\n", verb != nullptr ? " " + verb->get_name() : "");
  return kUsageStatus;
}

// Rewrites `help`, `help VERB` and `--version` to the form that the parser knows.
std::vector<std::string> plain_words(const std::vector<std::string>& words) {
  if (words.size() == 1 && words[0] == "--version") return {"version"};
  if (words[0] != "help") return words;
  if (words.size() == 1) return {"--help"};
  return {words[1], "--help"};
}

// Returns the index of the verb, which may follow `--config FILE`.
size_t verb_place(const std::vector<std::string>& words) {
  return words[0] == "--config" ? 2 : words[0].starts_with("--config=") ? 1 : 0;
}

// Returns an error about an option of another program; "" where there is none among the words. The
// parser may report such a word as a different fault, for example `-ngl 99`.
std::string foreign_sentence(const CLI::App& program, const std::vector<std::string>& words) {
  const CLI::App* verb = chosen_verb(program);
  for (const std::string& word : words) {
    const std::string instead = foreign_option(word.substr(0, word.find('=')));
    if (instead.empty() || verb == nullptr || verb->get_option_no_throw(word) != nullptr) continue;
    return fmt::format("there is no option {}: {}", word, instead);
  }
  return {};
}

std::string page_of(CLI::App& program, bool all) {
  group_options(program);
  const CLI::App* verb = chosen_verb(program);
  size_t columns = kPageColumns;
  if (stdout_is_terminal()) columns = std::min<size_t>(terminal_columns(), kMaxPageColumns);
  return help_page(program.help(), columns, all, verb == nullptr ? "" : verb->get_name());
}

// Parses the words. Returns the exit status where nothing is left to do, after help or an error.
// Returns none where there is an action, or an option is missing that a configuration may set.
std::optional<int> parse(Program* program, std::vector<std::string> words) {
  auto is_all = [](const std::string& word) { return word == kHelpAll; };
  const bool all = std::ranges::any_of(words, is_all);
  std::ranges::replace_if(words, is_all, "--help");
  const std::vector<std::string> said = words;
  try {
    // The parser takes the words in reverse.
    std::reverse(words.begin(), words.end());
    program->app.parse(std::move(words));
  } catch (const CLI::CallForHelp&) {
    write_stdout(page_of(program->app, all));
    return 0;
  } catch (const CLI::ExtrasError&) {
    return usage_error(program->app, extras_sentence(program->app));
  } catch (const CLI::ParseError& error) {
    std::string foreign = foreign_sentence(program->app, said);
    const bool lacks = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
    if (!lacks || !foreign.empty() || chosen_verb(program->app) == nullptr) {
      return usage_error(program->app, foreign.empty() ? parse_sentence(error) : foreign);
    }
    program->lacks = parse_sentence(error);
  }
  return std::nullopt;
}

int run_configured(const std::vector<std::string>& words, size_t place,
                   const std::vector<std::string>& more, const ConfiguredOptions& options,
                   const GivenWords& given) {
  Program program;
  add_verbs(&program);
  program.given = given;
  std::vector<std::string> all = words;
  all.insert(all.begin() + static_cast<ptrdiff_t>(place) + 1, more.begin(), more.end());
  std::reverse(all.begin(), all.end());
  try {
    program.app.parse(std::move(all));
  } catch (const CLI::ParseError& error) {
    const std::string source = configured_source(error.what(), options);
    return usage_error(program.app, (source.empty() ? "" : source + ": ") + parse_sentence(error));
  }
  return program.action();
}

int parse_and_run(const std::vector<std::string>& words) {
  Program program;
  add_verbs(&program);
  if (words.empty()) {
    write_stderr(page_of(program.app, false));
    return kUsageStatus;
  }
  const std::vector<std::string> plain = plain_words(words);
  const size_t place = verb_place(plain);
  const std::vector<std::string> names = verb_names(program.app);
  if (place < plain.size() && !plain[place].starts_with('-') &&
      std::ranges::find(names, plain[place]) == names.end()) {
    std::string meant = foreign_verb(plain[place]);
    meant = meant.empty() ? did_you_mean(plain[place], names) : ": " + meant;
    std::string list = meant.empty() ? fmt::format("; there are {}", fmt::join(names, ", ")) : "";
    return usage_error(program.app,
                       fmt::format("there is no verb '{}'{}{}", plain[place], meant, list));
  }
  if (std::optional<int> status = parse(&program, plain)) return *status;
  const CLI::App& verb = *chosen_verb(program.app);
  GivenWords& given = program.given;
  given.words.assign(plain.begin() + static_cast<ptrdiff_t>(place) + 1, plain.end());
  given.configuration = find_configuration(given.file, option_tree(program.app));
  const ConfiguredOptions& options = given.configuration[verb.get_name()];
  const std::vector<std::string> more = configured_words(verb, options);
  if (!more.empty()) return run_configured(plain, place, more, options, given);
  return program.lacks.empty() ? program.action() : usage_error(program.app, program.lacks);
}

}  // namespace

OptionTree option_tree(const CLI::App& program) {
  OptionTree tree;
  const std::vector<std::string> of_model = model_option_keys();
  for (const CLI::App* verb : program.get_subcommands([](const CLI::App*) { return true; })) {
    VerbFact fact{.name = verb->get_name(), .help = verb->get_description(), .options = {}};
    for (const CLI::Option* option : verb->get_options()) {
      if (option->get_name(true) == "MODEL") fact.names_model = true;
      if (option->get_positional()) continue;
      OptionFact each{.help = option->get_description(), .preset = option->get_default_str()};
      for (const std::string& name : option->get_snames()) each.names.push_back("-" + name);
      for (const std::string& name : option->get_lnames()) each.names.push_back("--" + name);
      each.flag = option->get_items_expected_max() == 0;
      each.many = option->get_expected_max() > 1;
      const bool help = option == verb->get_help_ptr();
      if (!help && !option->get_lnames().empty()) each.key = option->get_lnames().front();
      each.of_model =
          fact.name == "serve" && std::ranges::find(of_model, each.key) != of_model.end();
      fact.options.push_back(std::move(each));
    }
    tree.push_back(std::move(fact));
  }
  return tree;
}

int run_program(const std::vector<std::string>& words) {
  try {
    return parse_and_run(words);
  } catch (const Error& error) {
    print_error(command_line_text(error));
    return error.exit_status();
  } catch (const std::bad_alloc&) {
    print_error("not enough memory: use a smaller model or context, or free memory");
  } catch (const std::exception& error) {
    print_error(error.what());
  }
  return kFailureStatus;
}

}  // namespace hearth
