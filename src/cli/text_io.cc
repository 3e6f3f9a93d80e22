#include "cli/text_io.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "base/atomic_file.h"
#include "base/byte_order_mark.h"
#include "base/error.h"
#include "base/tell.h"

namespace hearth {
namespace {

constexpr size_t kReadBytes = 1 << 16;

std::string read_all(int fd, const std::string& name) {
  std::string text;
  for (;;) {
    size_t size = text.size();
    text.resize(size + kReadBytes);
    ssize_t got = ::read(fd, text.data() + size, kReadBytes);
    text.resize(size + static_cast<size_t>(got > 0 ? got : 0));
    if (got == 0) {
      text.erase(0, text.size() - without_byte_order_mark(text).size());
      return text;
    }
    if (got < 0 && errno != EINTR) {
      fail(ErrorCode::kFile, "cannot read {}: {}", name, std::strerror(errno));
    }
  }
}

}  // namespace

std::string read_text(const std::string& path) {
  if (path == "-") return read_all(STDIN_FILENO, "standard input");
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) fail(ErrorCode::kFile, "cannot open '{}': {}", path, std::strerror(errno));
  auto close_fd = [](const int* open_fd) { ::close(*open_fd); };
  std::unique_ptr<int, decltype(close_fd)> closer(&fd, close_fd);
  return read_all(fd, fmt::format("'{}'", path));
}

void write_stdout(std::string_view text) {
  if (int error = write_all(STDOUT_FILENO, text)) {
    fail(ErrorCode::kFile, "cannot write to standard output: {}", std::strerror(error));
  }
}

std::string read_key(const std::string& path) {
  std::string text = read_text(path);
  text.resize(std::min(text.find_first_of("\r\n"), text.size()));
  size_t first = text.find_first_not_of(" \t");
  if (first == std::string::npos)
    fail(ErrorCode::kFile, "the first line of {} is empty: put the API key there", path);
  text = text.substr(first, text.find_last_not_of(" \t") - first + 1);
  for (char c : text) {
    if (c <= ' ' || c > '~')
      fail(ErrorCode::kFile, "the API key in {} has characters other than ASCII: check the file",
           path);
  }
  return text;
}

bool stdin_is_terminal() { return ::isatty(STDIN_FILENO) != 0; }
bool stdout_is_terminal() { return ::isatty(STDOUT_FILENO) != 0; }
bool stderr_is_terminal() { return ::isatty(STDERR_FILENO) != 0; }

void print_note(std::string_view text) { print_stderr("hearth: note: {}\n", text); }

std::string without_last_newline(std::string text) {
  if (text.ends_with('\n')) text.pop_back();
  if (text.ends_with('\r')) text.pop_back();
  return text;
}

}  // namespace hearth
