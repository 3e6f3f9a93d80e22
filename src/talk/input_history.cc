#include "talk/input_history.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <utility>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/user_folder.h"

namespace hearth {
namespace {

constexpr mode_t kOwnFile = 0600, kOwnFolder = 0700;

std::string one_line(const std::string& message) {
  std::string line;
  for (char c : message) {
    if (c == '\n') {
      line += "\\n";
    } else if (c == '\\') {
      line += "\\\\";
    } else {
      line += c;
    }
  }
  return line + "\n";
}

std::string message_of(const std::string& line) {
  std::string message;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\\' && i + 1 < line.size()) {
      ++i;
      message += line[i] == 'n' ? '\n' : line[i];
    } else {
      message += line[i];
    }
  }
  return message;
}

}  // namespace

std::optional<std::string> history_path() {
  const std::optional<std::string> state = user_folder("XDG_STATE_HOME", ".local/state");
  if (!state) return std::nullopt;
  return *state + "/hearth/chat_history";
}

InputHistory::InputHistory(std::optional<std::string> path) : path_(std::move(path)) {
  if (path_) read();
}

void InputHistory::read() {
  std::error_code ignored;
  // Reading a device or a pipe might never end.
  if (std::filesystem::exists(*path_, ignored) &&
      !std::filesystem::is_regular_file(*path_, ignored)) {
    problem_ = fmt::format("'{}' is not a file, so typed lines are not saved", *path_);
    path_.reset();
    return;
  }
  std::ifstream file(*path_, std::ios::binary);
  for (std::string line; std::getline(file, line);) {
    if (line.size() <= 2 * kMaxHistoryBytes) messages_.push_back(message_of(line));
  }
  if (messages_.size() <= 2 * kMaxHistoryLines) return;
  messages_.erase(messages_.begin(), messages_.end() - kMaxHistoryLines);
  write_all_again();
}

void InputHistory::write_all_again() {
  std::string text;
  for (const std::string& message : messages_) text += one_line(message);
  try {
    AtomicFile file(*path_);
    file.write(std::as_bytes(std::span(text)));
    file.commit();
  } catch (const Error& error) {
    problem_ = error.what();
  }
}

bool InputHistory::add(const std::string& message) {
  if (message.empty() || message.size() > kMaxHistoryBytes) return false;
  if (!messages_.empty() && messages_.back() == message) return false;
  messages_.push_back(message);
  if (path_) append(one_line(message));
  return true;
}

void InputHistory::append(const std::string& line) {
  std::error_code ignored;
  const std::filesystem::path folder = std::filesystem::path(*path_).parent_path();
  std::filesystem::create_directories(folder.parent_path(), ignored);
  mkdir(folder.c_str(), kOwnFolder);
  int fd = open(path_->c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, kOwnFile);
  int error = fd < 0 ? errno : 0;
  if (fd >= 0) {
    if (fchmod(fd, kOwnFile) != 0) error = errno;
    if (error == 0) error = write_all(fd, line);
    close(fd);
  }
  if (error == 0) return;
  problem_ =
      fmt::format("cannot write '{}': {}; typed lines are not saved", *path_, std::strerror(error));
  path_.reset();
}

}  // namespace hearth
