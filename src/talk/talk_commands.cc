#include "talk/talk_commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "base/json_reader.h"
#include "base/printable.h"
#include "talk/text_file.h"

namespace hearth {
namespace {

constexpr std::string_view kSettings[] = {"frequency_penalty",
                                          "max_tokens",
                                          "min_p",
                                          "presence_penalty",
                                          "repeat_penalty",
                                          "seed",
                                          "stop",
                                          "temperature",
                                          "top_k",
                                          "top_p"};
constexpr const char* kUnset = "default";

std::vector<std::string> beginning_with(const std::string& word,
                                        const std::vector<std::string>& words) {
  std::vector<std::string> found;
  std::ranges::copy_if(words, std::back_inserter(found),
                       [&](const std::string& each) { return each.starts_with(word); });
  return found;
}

std::string needed(const std::string& words, const char* what) {
  if (words.empty()) fail(ErrorCode::kUsage, "give {}", what);
  return words;
}

}  // namespace

std::span<const TalkCommands::Command> TalkCommands::commands() {
  static constexpr Command kAll[] = {
      {"/help", "", "list all commands", &TalkCommands::help},
      {"/clear", "", "remove all messages but the system message", &TalkCommands::clear},
      {"/regen", "", "send the last message again", &TalkCommands::regenerate},
      {"/undo", "", "remove the last message and its answer", &TalkCommands::undo},
      {"/system", "[TEXT]", "set the system message; off: none; without TEXT: show it",
       &TalkCommands::set_system},
      {"/set", "[NAME VALUE]", "set temperature, top_p, ...; without NAME: show changes",
       &TalkCommands::set},
      {"/model", "[NAME]", "use another model; without NAME: list them", &TalkCommands::take_model},
      {"/read", "FILE", "add a file's text to the next message", &TalkCommands::read_file},
      {"/save", "FILE", "save the conversation", &TalkCommands::save},
      {"/load", "FILE", "load a saved conversation", &TalkCommands::load},
      {"/think", "on|off", "turn thinking on or off", &TalkCommands::think},
      {"/stats", "", "show tokens, speeds, and what was reused", &TalkCommands::print_stats},
      {"/edit", "[TEXT]", "write a message in $EDITOR", &TalkCommands::edit},
      {"/exit", "", "leave the chat, as Ctrl-D does", &TalkCommands::exit}};
  return kAll;
}

void TalkCommands::carry_out(const std::string& message) {
  const size_t end = std::min(message.find_first_of(" \t\n"), message.size());
  const std::string name = message.substr(0, end);
  const size_t first = message.find_first_not_of(" \t\n", end);
  std::string words = first == message.npos ? "" : message.substr(first);
  words.resize(words.find_last_not_of(" \t\n") + 1);
  for (const Command& command : commands()) {
    if (command.name != name) continue;
    if (command.words.empty() && !words.empty()) {
      fail(ErrorCode::kUsage, "{} takes no arguments", name);
    }
    return (this->*command.act)(words);
  }
  fail(ErrorCode::kUsage,
       "there is no command {}: /help lists them; to begin a message with /, write //",
       printable(name));
}

std::vector<std::string> TalkCommands::complete(const std::string& line) const {
  if (!line.starts_with('/')) return {};
  const size_t space = line.find(' ');
  if (space == line.npos) {
    std::vector<std::string> names;
    for (const Command& command : commands()) names.emplace_back(command.name);
    return beginning_with(line, names);
  }
  const std::string name = line.substr(0, space);
  const std::string word = line.substr(line.rfind(' ') + 1);
  if (name == "/read" || name == "/save" || name == "/load" || name == "/model") {
    return paths_from(word);
  }
  if (name == "/think") return beginning_with(word, {"off", "on"});
  if (name == "/set") return beginning_with(word, {std::begin(kSettings), std::end(kSettings)});
  return {};
}

void TalkCommands::help(const std::string&) {
  std::string text;
  for (const Command& command : commands()) {
    const std::string left = fmt::format("{} {}", command.name, command.words);
    text += fmt::format("{:<18}{}\n", left, command.help);
  }
  talk_.say(
      text +
      "\"\"\" begins and ends a message of several lines, Alt-Enter puts a new line into one.\n"
      "Ctrl-C stops an answer, and clears the line. Ctrl-D ends.");
}

void TalkCommands::clear(const std::string&) {
  talk_.said_.clear();
  talk_.attached_.clear();
}

void TalkCommands::regenerate(const std::string&) {
  if (!talk_.said_.drop_answer()) fail(ErrorCode::kUsage, "there is no message yet");
  talk_.ask_again();
}

void TalkCommands::undo(const std::string&) {
  if (!talk_.said_.undo()) fail(ErrorCode::kUsage, "there is no message yet");
}

void TalkCommands::set_system(const std::string& words) {
  if (words.empty()) {
    const std::string& now = talk_.said_.system();
    talk_.say(now.empty() ? "there is no system message" : now);
  } else {
    talk_.said_.set_system(words == "off" ? "" : words);
  }
}

void TalkCommands::set(const std::string& words) {
  if (words.empty()) {
    if (talk_.settings_.empty())
      talk_.say("no setting was changed: the server's defaults are used");
    for (const auto& [name, value] : talk_.settings_) talk_.say(name + " " + value);
    return;
  }
  const size_t space = words.find(' ');
  const std::string name = words.substr(0, space);
  if (std::ranges::find(kSettings, name) == std::end(kSettings)) {
    fail(ErrorCode::kUsage, "there is no setting '{}'; the settings are {}", printable(name),
         fmt::join(kSettings, ", "));
  }
  const std::string value =
      needed(space == words.npos ? "" : words.substr(space + 1), "a value, or default");
  if (value == kUnset) {
    talk_.settings_.erase(name);
  } else if (name == "stop") {
    Json json;
    json.text(value);
    talk_.settings_[name] = json.take();
  } else {
    const boost::json::value number = read_json(value);
    if (!number.is_number()) fail(ErrorCode::kUsage, "{} takes a number", name);
    talk_.settings_[name] = value;
  }
}

void TalkCommands::list_models() {
  auto on_signal = [](int signal) {
    if (TerminalSignals::ends(signal)) TerminalSignals::die_of(signal);
    if (signal == SIGTSTP) TerminalSignals::stop_process();
    return signal == SIGINT;
  };
  for (const std::string& name : talk_.client_.models(talk_.options_.endpoint, on_signal)) {
    talk_.say(printable(name) + (name == talk_.options_.endpoint.model ? " (in use)" : ""));
  }
}

void TalkCommands::take_model(const std::string& words) {
  if (words.empty()) return list_models();
  talk_.options_.take_model(words, &talk_.options_.endpoint);
}

void TalkCommands::read_file(const std::string& words) {
  const std::string text = read_text_file(needed(words, "which file"));
  talk_.attached_ += fmt::format("{}:\n\n{}\n\n", words, text);
  talk_.say(fmt::format("{} bytes go with your next message", text.size()));
}

void TalkCommands::save(const std::string& words) {
  needed(words, "which file");
  if (is_there(words) && !Conversation::is_file(read_text_file(words))) {
    fail(ErrorCode::kFile, "'{}' exists and is not a saved conversation: choose another name",
         words);
  }
  write_text_file(words, talk_.said_.file_text());
}

void TalkCommands::load(const std::string& words) {
  const std::string text = read_text_file(needed(words, "which file"));
  try {
    talk_.said_.take_file(text);
  } catch (const Error& error) {
    fail(ErrorCode::kFile, "'{}': {}", words, error.what());
  }
  talk_.say(fmt::format("{} turns", talk_.said_.turns().size()));
}

void TalkCommands::think(const std::string& words) {
  if (words != "on" && words != "off") fail(ErrorCode::kUsage, "give /think on or /think off");
  talk_.thinks_ = words == "on";
}

void TalkCommands::print_stats(const std::string&) {
  if (!talk_.last_) fail(ErrorCode::kUsage, "there is no answer yet");
  const ChatAnswer& last = *talk_.last_;
  std::string read = "the server reports no token counts";
  if (last.prompt_tokens) {
    read = fmt::format("read {} tokens", *last.prompt_tokens);
    if (last.cached_tokens) read += fmt::format(", {} of them reused", *last.cached_tokens);
  }
  std::string wrote;
  if (last.tokens) wrote = fmt::format("; wrote {}", *last.tokens);
  if (last.tokens.value_or(0) > 1 && last.seconds > 0) {
    wrote += fmt::format(", {:.1f} tokens/s", static_cast<double>(*last.tokens - 1) / last.seconds);
  }
  talk_.say(
      fmt::format("last answer: {}{}; first text after {:.2f} s", read, wrote, last.first_seconds));
  const Talk::Sums& sums = talk_.sums_;
  talk_.say(fmt::format("all {} answers: read {} tokens, {} of them reused; wrote {}; {:.2f} s",
                        sums.answers, sums.prompt, sums.cached, sums.tokens, sums.seconds));
}

void TalkCommands::edit(const std::string& words) {
  if (!talk_.terminal_) fail(ErrorCode::kUsage, "/edit needs a terminal");
  std::string text = edited_text(words);
  while (text.ends_with('\n')) text.pop_back();
  if (text.empty()) fail(ErrorCode::kUsage, "the message is empty: nothing is sent");
  if (talk_.history_.add(text)) talk_.editor_->remember(text);
  talk_.ask(text);
}

void TalkCommands::exit(const std::string&) { talk_.ends_ = true; }

}  // namespace hearth
