// Conversation: the turns of a chat, all of which are sent with every question. The last turn may
// be a question without an answer; the next question is then joined to it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace hearth {

struct SpokenTurn {
  bool model = false;  // the model's; else the user's
  std::string text;
  std::string thinking = {};  // the model's reasoning, which is not sent again

  bool operator==(const SpokenTurn&) const = default;
};

class Conversation {
 public:
  const std::vector<SpokenTurn>& turns() const { return turns_; }
  const std::string& system() const { return system_; }
  void set_system(std::string text) { system_ = std::move(text); }

  void ask(std::string text);
  void answer(std::string text, std::string thinking);
  // Whether the last turn is a question without an answer.
  bool asks() const { return !turns_.empty() && !turns_.back().model; }

  // drop_answer() drops the last answer, undo() also its question. Both return false where there is
  // no question.
  bool drop_answer();
  bool undo();
  void clear() { turns_.clear(); }

  // Writes the turns as OpenAI's list of messages.
  void write_messages(Json& json) const;

  // Returns the conversation as a file's text: {"hearth_chat": 1, "system": "...", "turns":
  // [{"role", "content", "thinking"}]}.
  std::string file_text() const;
  // Replaces the conversation by a file's. Errors (kRequest): the text is no such file; then
  // nothing has changed.
  void take_file(std::string_view text);
  // Whether a text is a conversation's file, which may be overwritten.
  static bool is_file(std::string_view text);

 private:
  std::string system_;
  std::vector<SpokenTurn> turns_;
};

}  // namespace hearth
