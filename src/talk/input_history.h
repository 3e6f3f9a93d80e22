// InputHistory: the messages typed earlier, oldest first, in a file that only its owner may read.
// Each message is appended when it is sent, one a line, with "\n" for newlines and "\\" for
// backslashes. Messages of more than kMaxHistoryBytes are not kept. If the file cannot be read or
// written, problem() says why, and there is no other error.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace hearth {

inline constexpr size_t kMaxHistoryBytes = 16 << 10;
inline constexpr size_t kMaxHistoryLines = 1000;

// Returns the file's path: $XDG_STATE_HOME/hearth/chat_history, else below ~/.local/state; nothing
// where there is no home folder.
std::optional<std::string> history_path();

class InputHistory {
 public:
  // Keeps the messages only in memory if there is no path.
  explicit InputHistory(std::optional<std::string> path);

  const std::vector<std::string>& messages() const { return messages_; }
  // Adds a message; false where it is not kept: empty, too long, or the same as the last one.
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
