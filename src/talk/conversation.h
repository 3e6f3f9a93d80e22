// Keeps the turns of a chat, which is sent whole with every question. The last turn may be a
// question without an answer; what is asked next then joins it.
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

  // Drop the last answer, or the last question with it. False where there is none.
  bool drop_answer();
  bool undo();
  void clear() { turns_.clear(); }

  // The list of messages, as OpenAI's API has it.
  void write_messages(Json& json) const;

  // Returns the file: {"hearth_chat": 1, "system": "...", "turns": [{"role", "content",
  // "thinking"}]}.
  std::string file_text() const;
  // Errors (kRequest): the text is no such file; nothing has changed then.
  void take_file(std::string_view text);
  // Whether an existing file may be overwritten: it may where it is such a conversation.
  static bool is_file(std::string_view text);

 private:
  std::string system_;
  std::vector<SpokenTurn> turns_;
};

}  // namespace hearth
