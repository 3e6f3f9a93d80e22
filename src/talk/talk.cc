#include "talk/talk.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "base/tell.h"
#include "talk/shown_answer.h"
#include "talk/talk_commands.h"
#include "talk/terminal_mode.h"
#include "talk/wrapped_text.h"

namespace hearth {
namespace {

constexpr std::string_view kLongMark = "\"\"\"";
constexpr int kFailedStatus = 1, kStoppedStatus = 130;

bool both_are_terminals() { return isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0; }

bool shows_colours() {
  const char* none = std::getenv("NO_COLOR");
  const char* kind = std::getenv("TERM");
  return (none == nullptr || *none == '\0') && kind != nullptr && std::string_view(kind) != "dumb";
}

}  // namespace

Talk::Talk(const TerminalSignals& signals, TalkOptions options)
    : signals_(signals),
      options_(std::move(options)),
      terminal_(both_are_terminals()),
      colours_(terminal_ && shows_colours()),
      history_(terminal_ && options_.keep_history ? history_path() : std::nullopt),
      plain_(signals),
      client_(signals) {
  said_.set_system(options_.system);
  if (!terminal_) return;
  editor_.emplace(signals_, [this](const std::string& line) { return complete(line); });
  for (const std::string& message : history_.messages()) editor_->remember(message);
}

void Talk::say(std::string_view text) const {
  if (terminal_) {
    // The text may come from a loaded file or from the server, with control characters.
    options_.write(without_controls(text) + "\n");
  } else {
    print_stderr("hearth: {}\n", without_controls(text));
  }
}

int Talk::run() {
  if (terminal_ && !options_.greeting.empty()) say(options_.greeting);
  if (!history_.problem().empty()) say(history_.problem());
  while (!ends_) {
    InputLine message = read_message();
    if (message.end == InputLine::End::kEnd) break;
    if (message.end == InputLine::End::kLine) take(message.text);
    if (message.end == InputLine::End::kCleared && !terminal_) status_ = kStoppedStatus;
    if (status_ == kStoppedStatus) break;
  }
  return status_;
}

InputLine Talk::read_line(const std::string& prompt) {
  return editor_ ? editor_->read(prompt) : plain_.read();
}

InputLine Talk::read_message() {
  InputLine line = read_line("> ");
  if (line.end != InputLine::End::kLine || !line.text.starts_with(kLongMark)) return line;
  std::string text = line.text.substr(kLongMark.size());
  while (!text.ends_with(kLongMark)) {
    line = read_line("... ");
    if (line.end == InputLine::End::kCleared) return line;
    if (line.end == InputLine::End::kEnd) return {InputLine::End::kLine, text};
    text += (text.empty() ? "" : "\n") + line.text;
  }
  text.resize(text.size() - kLongMark.size());
  if (text.ends_with('\n')) text.pop_back();
  // A "/" at the beginning of a text between two """ begins no command, so a second one escapes it.
  return {InputLine::End::kLine, text.starts_with('/') ? "/" + text : text};
}

void Talk::take(const std::string& message) {
  if (message.find_first_not_of(" \t\n") == message.npos) return;
  if (terminal_ && history_.add(message)) editor_->remember(message);
  try {
    const bool command = message.starts_with('/') && !message.starts_with("//");
    if (command) {
      TalkCommands(*this).carry_out(message);
    } else {
      ask(message.starts_with('/') ? message.substr(1) : message);
    }
  } catch (const Error& error) {
    say(error.what());
    if (!terminal_) status_ = kFailedStatus;
  }
}

void Talk::ask(const std::string& text) {
  said_.ask(std::exchange(attached_, {}) + text);
  ask_again();
}

std::string Talk::request_body() const {
  Json json;
  json.object().key("model").text(options_.endpoint.model).key("messages");
  said_.write_messages(json);
  json.key("stream").boolean(true).key("stream_options").object();
  json.key("include_usage").boolean(true).end_object();
  if (thinks_) {
    json.key("chat_template_kwargs").object().key("enable_thinking").boolean(*thinks_);
    json.end_object();
  }
  json.end_object();
  std::string body = json.line();
  // The values of /set are JSON already.
  std::string settings;
  for (const auto& [name, value] : settings_) settings += fmt::format(",\"{}\":{}", name, value);
  return body.insert(body.size() - 2, settings);
}

void Talk::ask_again() {
  QuietTerminal quiet;
  ShownAnswer shown(terminal_ ? terminal_columns() : 0, colours_, options_.write);
  auto on_signal = [&](int signal) {
    if (signal == SIGINT) return true;
    if (signal == SIGWINCH) shown.resize(terminal_columns());
    if (TerminalSignals::ends(signal) || signal == SIGTSTP) {
      shown.pause();
      quiet.restore();
      if (signal != SIGTSTP) TerminalSignals::die_of(signal);
      TerminalSignals::stop_process();
      quiet.quieten();
      shown.resize(terminal_columns());
    }
    return false;
  };
  // Control characters are removed by the wrapping, and without wrapping here.
  const bool drops_controls = !terminal_ && isatty(STDOUT_FILENO) != 0;
  auto on_piece = [&](bool thinking, std::string_view piece) {
    shown.add(thinking, drops_controls ? without_controls(piece) : std::string(piece));
  };
  last_ = client_.ask(options_.endpoint, request_body(), on_piece, on_signal);
  shown.end();
  if (!last_->text.empty() || !last_->thinking.empty()) said_.answer(last_->text, last_->thinking);
  note_end(*last_);
  count(*last_);
}

void Talk::note_end(const ChatAnswer& answer) {
  if (answer.stopped) {
    if (!terminal_) status_ = kStoppedStatus;
    say(said_.asks() ? "stopped before the answer: /regen asks again, /undo removes the message"
                     : "stopped; the partial answer is kept: /regen asks again");
  } else if (!answer.problem.empty()) {
    if (!terminal_) status_ = kFailedStatus;
    say(fmt::format("{}; {}", answer.problem,
                    said_.asks() ? "your message is kept: /regen asks again, /undo removes it"
                                 : "the partial answer is kept: /regen asks again"));
  } else if (answer.finish == "length") {
    say("the answer ends here: the limit of tokens or the context is reached");
  } else if (said_.asks()) {
    say("the answer is empty: /regen asks again");
  }
}

void Talk::count(const ChatAnswer& answer) {
  ++sums_.answers;
  sums_.prompt += answer.prompt_tokens.value_or(0);
  sums_.cached += answer.cached_tokens.value_or(0);
  sums_.tokens += answer.tokens.value_or(0);
  sums_.seconds += answer.first_seconds + answer.seconds;
}

std::vector<std::string> Talk::complete(const std::string& line) {
  return TalkCommands(*this).complete(line);
}

}  // namespace hearth
