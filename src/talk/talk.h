// Talk: a chat at a terminal. It reads lines, sends questions, shows answers as they come, and runs
// commands, which begin with "/" (listed in talk_commands.cc). Where standard input or output is no
// terminal, it writes nothing but the answers, and each line is a question.
//
// No error loses anything: a question without an answer stays in the conversation, and so does the
// part of an answer that was stopped or cut.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "talk/chat_client.h"
#include "talk/conversation.h"
#include "talk/input_history.h"
#include "talk/line_editor.h"
#include "talk/plain_input.h"
#include "talk/terminal_signals.h"

namespace hearth {

struct TalkOptions {
  ChatEndpoint endpoint;
  std::string system;
  std::string greeting;  // printed first on a terminal
  bool keep_history = true;
  // Changes to the model of this name (/model) and sets the endpoint to ask. It sets the endpoint
  // even if it throws, since the earlier model may then have another one.
  std::function<void(const std::string& name, ChatEndpoint* endpoint)> take_model;
  // Writes to standard output.
  std::function<void(std::string_view)> write;
};

class Talk {
 public:
  Talk(const TerminalSignals& signals, TalkOptions options);

  // Runs until the input ends. Returns the exit status: without a terminal 1 if an answer failed
  // and 130 after Ctrl-C; else 0.
  int run();

 private:
  friend class TalkCommands;

  struct Sums {
    uint64_t answers = 0, prompt = 0, cached = 0, tokens = 0;
    double seconds = 0;
  };

  InputLine read_line(const std::string& prompt);
  // Reads a message: one line, or the text between two """; nothing where Ctrl-C cleared it.
  InputLine read_message();
  void take(const std::string& message);
  void ask(const std::string& text);
  void ask_again();
  std::string request_body() const;
  void note_end(const ChatAnswer& answer);
  void count(const ChatAnswer& answer);
  std::vector<std::string> complete(const std::string& line);
  void say(std::string_view text) const;

  const TerminalSignals& signals_;
  TalkOptions options_;
  const bool terminal_, colours_;
  InputHistory history_;
  std::optional<LineEditor> editor_;
  PlainInput plain_;
  ChatClient client_;
  Conversation said_;
  std::string attached_;                         // put before the next message
  std::map<std::string, std::string> settings_;  // of requests, as JSON (/set)
  std::optional<bool> thinks_;                   // set by /think; else nothing
  std::optional<ChatAnswer> last_;
  Sums sums_;
  int status_ = 0;
  bool ends_ = false;
};

}  // namespace hearth
