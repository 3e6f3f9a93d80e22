#include "setup/completion_script.h"

#include <fmt/format.h>

#include "base/check.h"

namespace hearth {
namespace {

std::string verb_names(const OptionTree& tree) {
  std::string names;
  for (const VerbFact& verb : tree) names += (names.empty() ? "" : " ") + verb.name;
  return names;
}

std::string option_names(const VerbFact& verb) {
  std::string names;
  for (const OptionFact& option : verb.options) {
    names += fmt::format("{}{}", names.empty() ? "" : " ", fmt::join(option.names, " "));
  }
  return names;
}

// Returns "VERB) options=...;;" for every verb.
std::string option_cases(const OptionTree& tree) {
  std::string cases;
  for (const VerbFact& verb : tree) {
    cases += fmt::format("    {}) options='{}' ;;\n", verb.name, option_names(verb));
  }
  return cases;
}

std::string model_verbs(const OptionTree& tree, const char* between) {
  std::string names;
  for (const VerbFact& verb : tree) {
    if (verb.names_model) names += (names.empty() ? "" : between) + verb.name;
  }
  return names;
}

// bash splits a name with ':' into several words, and completes the last of them.
constexpr const char* kBashModels = R"(_hearth_models() {
  local word=${COMP_LINE:0:COMP_POINT} cut= name
  word=${word##*[[:space:]]}
  case $COMP_WORDBREAKS in
    *:*) cut=${word%"${word##*:}"} ;;
  esac
  while IFS= read -r name; do
    case $name in
      "$word"*) COMPREPLY+=("${name#"$cut"}") ;;
    esac
  done < <("${COMP_WORDS[0]}" list --names 2>/dev/null)
  [ ${#COMPREPLY[@]} = 0 ] && return
  while IFS= read -r name; do
    COMPREPLY+=("$name")
  done < <(compgen -f -- "$word")
}
)";

std::string bash_script(const OptionTree& tree) {
  return fmt::format(R"(# Completion of hearth for bash: source <(hearth completion bash)
{}_hearth() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} options=
  COMPREPLY=()
  if [ "$COMP_CWORD" = 1 ]; then
    COMPREPLY=($(compgen -W '{} help' -- "$current"))
    return
  fi
  case ${{COMP_WORDS[1]}} in
{}    help) options='{}' ;;
  esac
  case $current in
    -*) COMPREPLY=($(compgen -W "$options" -- "$current")) ;;
    *)
      case ${{COMP_WORDS[1]}} in
        help) COMPREPLY=($(compgen -W "$options" -- "$current")) ;;
        {}) _hearth_models ;;
      esac
      ;;
  esac
}}
complete -o default -F _hearth hearth
)",
                     kBashModels, verb_names(tree), option_cases(tree), verb_names(tree),
                     model_verbs(tree, "|"));
}

std::string zsh_script(const OptionTree& tree) {
  return fmt::format(R"zsh(#compdef hearth
# Completion of hearth for zsh: source <(hearth completion zsh), or a file _hearth in $fpath
_hearth() {{
  local verb=$words[2] options=
  if (( CURRENT == 2 )); then
    compadd -- {} help
    return
  fi
  case $verb in
{}    help) options='{}' ;;
  esac
  if [[ $PREFIX == -* || $verb == help ]]; then
    compadd -- ${{=options}}
  else
    case $verb in
      {}) compadd -- ${{(f)"$($words[1] list --names 2>/dev/null)"}} ;;
    esac
    _files
  fi
}}
compdef _hearth hearth
)zsh",
                     verb_names(tree), option_cases(tree), verb_names(tree),
                     model_verbs(tree, "|"));
}

// Returns the text as it is written within single quotes in fish.
std::string fish_quoted(const std::string& text) {
  std::string quoted;
  for (char c : text) {
    if (c == '\'' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return "'" + quoted + "'";
}

std::string fish_script(const OptionTree& tree) {
  std::string script = "# Completion of hearth for fish: hearth completion fish | source\n";
  for (const VerbFact& verb : tree) {
    script += fmt::format("complete -c hearth -f -n __fish_use_subcommand -a {} -d {}\n", verb.name,
                          fish_quoted(verb.help));
  }
  script += fmt::format(
      "complete -c hearth -n '__fish_seen_subcommand_from {}' -a '(hearth list --names "
      "2>/dev/null)'"
      "\n",
      model_verbs(tree, " "));
  for (const VerbFact& verb : tree) {
    for (const OptionFact& option : verb.options) {
      script += fmt::format("complete -c hearth -n '__fish_seen_subcommand_from {}'", verb.name);
      for (const std::string& name : option.names) {
        const bool full = name.starts_with("--");
        script += fmt::format(" -{} {}", full ? "l" : "s", name.substr(full ? 2 : 1));
      }
      script += fmt::format("{} -d {}\n", option.flag ? "" : " -r", fish_quoted(option.help));
    }
  }
  return script;
}

}  // namespace

std::vector<std::string> completion_shells() { return {"bash", "zsh", "fish"}; }

std::string completion_script(const std::string& shell, const OptionTree& tree) {
  if (shell == "bash") return bash_script(tree);
  if (shell == "zsh") return zsh_script(tree);
  HEARTH_CHECK(shell == "fish", "there are scripts for these shells");
  return fish_script(tree);
}

}  // namespace hearth
