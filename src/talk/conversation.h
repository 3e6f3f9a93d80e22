// What was said, by whom: the turns of a chat that is sent whole with every question. The last turn
// may be a question without an answer; what is asked next then joins it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace hearth {

struct SpokenTurn {
  bool model = false;  // else the user
  std::string text;
  std::string thinking = {};  // of the model; is not sent again

  bool operator==(const SpokenTurn&) const = default;
};

class Conversation {
 public:
  const std::vector<SpokenTurn>& turns() const { return turns_; }
  const std::string& system() const { return system_; }
  void set_system(std::string text) { system_ = std::move(text); }

  void ask(std::string text);
  void answer(std::string text, std::string thinking);
  // Whether the last turn waits for an answer.
  bool asks() const { return !turns_.empty() && !turns_.back().model; }

  // The last answer, or the last question with it, goes. False where there is none.
  bool drop_answer();
  bool undo();
  void clear() { turns_.clear(); }

  // The list of messages, as OpenAI's API has it.
  void write_messages(Json& json) const;

  // As a file: {"hearth_chat": 1, "system": "...", "turns": [{"role", "content", "thinking"}]}.
  std::string file_text() const;
  // Errors (kRequest): the text is no such file; nothing has changed then.
  void take_file(std::string_view text);
  // Whether a file that is there may be written over: a conversation too.
  static bool is_file(std::string_view text);

 private:
  std::string system_;
  std::vector<SpokenTurn> turns_;
};

}  // namespace hearth
