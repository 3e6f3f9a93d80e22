// The commands of a chat: "/NAME WORDS". Made for one command or one completion.
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

  // Errors: what the command cannot do, as a sentence; nothing is lost then.
  void carry_out(const std::string& message);
  // Returns the words that the last word of the line may become: names of commands, of files, of
  // settings.
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
  void tell_stats(const std::string&);
  void edit(const std::string& words);
  void exit(const std::string&);

  void list_models();

  Talk& talk_;
};

}  // namespace hearth
