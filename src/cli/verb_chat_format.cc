// hearth chat-format: shows the format of a model's turns, and parses recorded ones by it.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>

#include "base/error.h"
#include "base/json.h"
#include "base/json_reader.h"
#include "base/printable.h"
#include "chat/recorded_turn.h"
#include "chat/turn_template.h"
#include "cli/load.h"
#include "cli/model_names.h"
#include "cli/options.h"
#include "cli/program.h"
#include "cli/text_io.h"
#include "models/registry.h"
#include "template/chat_prompt.h"

namespace hearth {
namespace {

struct ChatFormatArgs {
  std::optional<std::string> model, form, template_path, read;
  bool json = false;
};

// The format by which turns are parsed, and the tokenizer of the model, if one was given.
struct TurnSetting {
  std::unique_ptr<const Tokenizer> tokenizer = nullptr;  // null if only a template was given
  TurnFormat format = {};
  std::string problem = {};
  TurnVocabulary vocabulary = {};
};

const KnownFormat& known_format(const std::string& name) {
  const KnownFormat* known = find_known_format(name);
  if (known != nullptr) return *known;
  fail(ErrorCode::kUsage, "there is no form '{}': give one of {}", name,
       fmt::join(known_format_names(), ", "));
}

TurnSetting setting_of(const KnownFormat& known) {
  return {.format = known.format, .vocabulary = made_turn_vocabulary(known.controls)};
}

// Finds the format of a template that comes without a model. Its vocabulary is made of single
// bytes, and of the usual markers as tokens.
TurnSetting template_setting(const std::string& path) {
  const ChatTemplate chat(read_text(path));
  const RenderTurns render = renderer_of(chat);
  const FoundTurnFormat found = find_turn_format(render, [](std::string_view) { return false; });
  const KnownFormat* known = find_known_format(found.format.name);
  TurnSetting setting{.vocabulary = made_turn_vocabulary(
                          known != nullptr ? known->controls : std::vector<std::string>())};
  const FoundTurnFormat proved = prove_turn_format(render, setting.vocabulary);
  setting.format = proved.format;
  setting.problem = proved.problem;
  return setting;
}

TurnSetting model_setting(const ChatFormatArgs& args) {
  const ModelSource source = open_model_source(*args.model, UnknownTypes::kKeep);
  ConsoleListener console(false);
  TurnSetting setting{.tokenizer = open_tokenizer(source, std::nullopt, console)};
  std::optional<std::string> text;
  if (args.template_path) text = read_text(*args.template_path);
  const ChatPrompt prompt(source, *setting.tokenizer, text);
  setting.vocabulary = turn_vocabulary(*setting.tokenizer);
  const FoundTurnFormat found = prove_turn_format(renderer_of(prompt), setting.vocabulary);
  setting.format = found.format;
  setting.problem = found.problem;
  return setting;
}

TurnSetting setting_of(const ChatFormatArgs& args) {
  if (args.form && (args.model || args.template_path)) {
    fail(ErrorCode::kUsage,
         "--form cannot be combined with a model or --template: give only one of them");
  }
  if (args.form) return setting_of(known_format(*args.form));
  if (!args.model && !args.template_path) {
    fail(ErrorCode::kUsage, "give a model, --template FILE or --form NAME");
  }
  return args.model ? model_setting(args) : template_setting(*args.template_path);
}

// Parses recorded turns in the setting's format, or in the format that a line names.
class TurnLines {
 public:
  explicit TurnLines(const TurnSetting* setting) : setting_(setting) {}

  std::string read(const boost::json::object& line) {
    const RecordedTurn turn = read_recorded_turn(line, definitions_);
    const TurnSetting& setting = setting_ != nullptr ? *setting_ : named(turn.form);
    auto language = std::make_shared<const TurnLanguage>(compile_turn(
        setting.format, turn.order, setting.vocabulary.markers, setting.vocabulary.trie));
    return turn_message_json(turn, read_turn(language, tokens_of(turn, setting.vocabulary)));
  }

  void define(const boost::json::object& tools) {
    for (const auto& tool : tools) definitions_[tool.key()] = tool.value();
  }

 private:
  const TurnSetting& named(const std::string& form) {
    if (form.empty()) {
      fail(ErrorCode::kUsage,
           "a turn has no 'form': add it, or give a model, --template FILE or --form NAME");
    }
    auto [at, added] = named_.try_emplace(form);
    if (added) at->second = setting_of(known_format(form));
    return at->second;
  }

  const TurnSetting* setting_;
  std::map<std::string, TurnSetting> named_;
  boost::json::object definitions_;
};

const boost::json::object& object_of(const boost::json::value& value) {
  if (value.is_object()) return value.get_object();
  fail(ErrorCode::kRequest, "a turn must be a JSON object");
}

void read_one(TurnLines& lines, const boost::json::object& line) {
  const boost::json::value* tools = line.if_contains("tools");
  if (tools != nullptr && tools->is_object()) lines.define(tools->get_object());
  if (const boost::json::value* cases = line.if_contains("cases"); cases && cases->is_array()) {
    for (const boost::json::value& turn : cases->get_array()) {
      write_stdout(lines.read(object_of(turn)));
    }
  } else if (line.contains("pieces")) {
    write_stdout(lines.read(line));
  }
}

int read_turns(const ChatFormatArgs& args) {
  std::optional<TurnSetting> setting;
  if (args.model || args.template_path || args.form) setting = setting_of(args);
  TurnLines lines(setting ? &*setting : nullptr);
  const std::string text = read_text(*args.read);
  std::optional<boost::json::value> whole;
  try {
    whole = read_json(text);
  } catch (const Error&) {  // reported in the turn's line
  }
  if (whole) {
    read_one(lines, object_of(*whole));
    return 0;
  }
  for (size_t begin = 0, number = 1; begin < text.size(); ++number) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    begin = end + 1;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    try {
      read_one(lines, object_of(read_json(line)));
    } catch (const Error& error) {
      throw Error(error.code(), fmt::format("'{}', line {}: {}", *args.read, number, error.what()));
    }
  }
  return 0;
}

constexpr size_t kMaxShownBytes = 1000;  // bytes of a marker that are shown

// Returns the text between quotation marks, each newline as \n.
std::string in_marks(std::string_view text) {
  std::string shown;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    if (begin > 0) shown += "\\n";
    shown += printable(text.substr(begin, end - begin), kMaxShownBytes);
    begin = end + 1;
  }
  return fmt::format("'{}'", shown);
}

std::string arguments_shown(const CallFormat& calls) {
  switch (calls.arguments) {
    case ArgumentForm::kJson:
      return "{...}";
    case ArgumentForm::kParameters:
      return calls.parameter + "KEY" + calls.key_end + "VALUE" + calls.value_end + "...";
    case ArgumentForm::kDictionary:
      return "KEY:" + calls.quote + "TEXT" + calls.quote + ",...";
    case ArgumentForm::kPython:
      return "KEY=VALUE, ...";
  }
  return "";
}

// Returns a call in the format, with placeholders for name, id and arguments.
std::string call_shown(const CallFormat& calls) {
  std::string text = calls.section_begin + calls.begin;
  if (calls.id_place == IdPlace::kBeforeName) text += "ID" + calls.id_end;
  if (calls.id_place == IdPlace::kAroundName) text += calls.id_begin;
  text += "NAME";
  if (calls.id_place == IdPlace::kAroundName) text += ":NUMBER";
  if (calls.id_place == IdPlace::kBehindName) text += calls.id_begin + "ID";
  text += calls.name_end + arguments_shown(calls);
  if (calls.id_place == IdPlace::kBehindArguments) text += calls.id_begin + "ID" + calls.id_end;
  return text + calls.end + calls.section_end;
}

void print_format(const TurnSetting& setting) {
  const TurnFormat& format = setting.format;
  std::string text = fmt::format("form       {}\n", format.name.empty() ? "none" : format.name);
  if (format.harmony) {
    text += "reasoning  in the channel 'analysis'\ncalls      messages to functions.NAME\n";
  } else {
    text += format.reasons()
                ? fmt::format("reasoning  {} ... {}\n", in_marks(format.reasoning_begin),
                              in_marks(format.reasoning_end))
                : "reasoning  not separated\n";
    text += format.calls ? fmt::format("calls      {}\n", in_marks(call_shown(*format.calls)))
                         : fmt::format("calls      none: the chat template {}\n", setting.problem);
  }
  if (format.calls && !format.calls->separator.empty()) {
    text += fmt::format("between    {}\n", in_marks(format.calls->separator));
  }
  if (format.calls && format.calls->one) text += "a turn     has at most one call\n";
  if (format.calls_tools()) {
    text += fmt::format("history    arguments {}{}\n",
                        format.history.arguments_as_text ? "as text" : "as an object",
                        format.history.id_length > 0
                            ? fmt::format(", ids of {} characters", format.history.id_length)
                            : "");
  }
  write_stdout(text);
}

void print_format_json(const TurnSetting& setting) {
  const TurnFormat& format = setting.format;
  Json json;
  json.object().key("form").text(format.name).key("tools").boolean(format.calls_tools());
  if (!setting.problem.empty()) json.key("problem").text(setting.problem);
  json.key("reasoning").object().key("begin").text(format.reasoning_begin);
  json.key("end").text(format.reasoning_end).end_object();
  json.key("harmony").boolean(format.harmony);
  if (format.calls) {
    const CallFormat& calls = *format.calls;
    json.key("calls").object();
    for (auto [name, text] : {std::pair("section_begin", &calls.section_begin),
                              {"begin", &calls.begin},
                              {"name_end", &calls.name_end},
                              {"end", &calls.end},
                              {"separator", &calls.separator},
                              {"section_end", &calls.section_end},
                              {"id_begin", &calls.id_begin},
                              {"id_end", &calls.id_end},
                              {"parameter", &calls.parameter},
                              {"key_end", &calls.key_end},
                              {"json_key_end", &calls.json_key_end},
                              {"value_end", &calls.value_end},
                              {"quote", &calls.quote}}) {
      if (!text->empty()) json.key(name).text(*text);
    }
    json.key("one").boolean(calls.one).key("shown").text(call_shown(calls)).end_object();
  }
  json.key("history").object().key("arguments");
  json.text(format.history.arguments_as_text ? "text" : "object");
  json.key("reasoning_key").text(format.history.reasoning_key);
  json.key("id_length").number(uint64_t{format.history.id_length}).end_object();
  write_stdout(json.end_object().line());
}

int chat_format(const ChatFormatArgs& args) {
  if (args.read) return read_turns(args);
  const TurnSetting setting = setting_of(args);
  if (args.json) {
    print_format_json(setting);
  } else {
    print_format(setting);
  }
  return setting.format.calls_tools() ? 0 : 1;
}

}  // namespace

void add_chat_format(CLI::App& program, Action& action) {
  CLI::App& verb =
      *program.add_subcommand("chat-format", "Show how a model calls tools and reasons");
  auto args = std::make_shared<ChatFormatArgs>();
  take_model_name(verb.add_option(
      "MODEL", args->model,
      "A GGUF file, a model's folder or a name (`hearth list`): its chat template"));
  add_text(verb, "--template", &args->template_path, "FILE", "Take this chat template instead");
  add_text(verb, "--form", &args->form, "NAME",
           "Take the form of this name, without a template: hermes, qwen3-coder, gpt-oss, ...");
  add_text(
      verb, "--read", &args->read, "FILE",
      "Read turns, a line of JSON each ({\"pieces\", \"tools\", \"prompt_tail\", \"end\"}), and "
      "print the messages that a client would get; -: standard input");
  verb.add_flag("--json", args->json, "Print the form as JSON");
  add_examples(verb,
               "  hearth chat-format model.gguf\n"
               "  hearth chat-format --template chat_template.jinja --json\n"
               "  hearth chat-format --form hermes --read turns.jsonl");
  verb.callback([args, &action] { action = [args] { return chat_format(*args); }; });
}

}  // namespace hearth
