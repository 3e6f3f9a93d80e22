// TalkCommands: the commands of a chat, "/NAME WORDS". An object is made for one command or one
// completion.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "talk/talk.h"

namespace hearth {

class TalkCommands {
 public:
  explicit TalkCommands(Talk& talk) : talk_(talk) {}

  // Runs a command. Errors: a sentence that says why it cannot be run; the chat is unchanged then.
  void carry_out(const std::string& message);
  // Returns the completions of the line's last word: names of commands, files and settings.
  std::vector<std::string> complete(const std::string& line) const;

 private:
  struct Command {
    std::string_view name, words, help;
    void (TalkCommands::*act)(const std::string& words);
  };
  static std::span<const Command> commands();

  void help(const std::string&);
  void clear(const std::string&);
  void regenerate(const std::string&);
  void undo(const std::string&);
  void set_system(const std::string& words);
  void set(const std::string& words);
  void take_model(const std::string& words);
  void read_file(const std::string& words);
  void save(const std::string& words);
  void load(const std::string& words);
  void think(const std::string& words);
  void print_stats(const std::string&);
  void edit(const std::string& words);
  void exit(const std::string&);

  void list_models();

  Talk& talk_;
};

}  // namespace hearth
