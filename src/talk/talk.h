// A chat at a terminal: lines are read, questions asked, answers shown as they come, and commands,
// which begin with "/", carried out (talk_commands.cc has the list). Where standard input or output
// is no terminal nothing but the answers is written; each line is a question.
//
// Nothing that was said is lost by what goes wrong: a question without an answer stays, and what
// came of an answer that was stopped or cut stays as the answer.
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
  std::string greeting;  // what is said first on a terminal
  bool keep_history = true;
  // Takes another model by the name that /model gives, and sets where to ask then; also where it
  // throws, since the model of before may be asked elsewhere then.
  std::function<void(const std::string& name, ChatEndpoint* endpoint)> take_model;
  // Writes to standard output.
  std::function<void(std::string_view)> write;
};

class Talk {
 public:
  Talk(const TerminalSignals& signals, TalkOptions options);

  // Talks until the end of the input. Returns the exit status: 1 where an answer failed that nobody
  // sat before, 130 after Ctrl-C there.
  int run();

 private:
  friend class TalkCommands;

  struct Sums {
    uint64_t answers = 0, prompt = 0, cached = 0, tokens = 0;
    double seconds = 0;
  };

  InputLine read_line(const std::string& prompt);
  // Reads a message: a line, the text between two """, or nothing where it was cleared.
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
  std::string attached_;                         // goes before the next message
  std::map<std::string, std::string> settings_;  // of a request, as JSON
  std::optional<bool> thinks_;                   // where /think said so
  std::optional<ChatAnswer> last_;
  Sums sums_;
  int status_ = 0;
  bool ends_ = false;
};

}  // namespace hearth
