// Keeps what was typed before, oldest first: a file that only its owner may read, to which each
// message is added as it is sent. One line a message, "\n" in place of newlines and "\\" of
// backslashes. Messages of more than kMostHistoryBytes are not kept. Where the file cannot be read
// or written, problem() says why, and nothing else happens.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace hearth {

inline constexpr size_t kMostHistoryBytes = 16 << 10;
inline constexpr size_t kMostHistoryLines = 1000;

// $XDG_STATE_HOME/hearth/chat_history, or in ~/.local/state; nothing where there is no home.
std::optional<std::string> history_path();

class InputHistory {
 public:
  // Keeps nothing beyond the object's life where there is no path.
  explicit InputHistory(std::optional<std::string> path);

  const std::vector<std::string>& messages() const { return messages_; }
  // False where the message is not worth keeping: empty, too long, or the same as the last one.
  bool add(const std::string& message);
  const std::string& problem() const { return problem_; }

 private:
  void read();
  void append(const std::string& line);
  void write_all_again();

  std::optional<std::string> path_;
  std::vector<std::string> messages_;
  std::string problem_;
};

}  // namespace hearth
