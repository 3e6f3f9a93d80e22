// Bytes in and out of the program: files and standard input read whole, standard output without a
// buffer, and files that appear whole or not at all.
// Errors (kFile): what cannot be read or written, named. A standard output that nobody reads any
// more ends the process by SIGPIPE, as it does other tools.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace hearth {

// The whole of a file; "-" is standard input.
std::string read_text(const std::string& path);

void write_stdout(std::string_view text);

bool stdin_is_terminal();
bool stdout_is_terminal();
bool stderr_is_terminal();

// "hearth: note: TEXT" on standard error.
void print_note(std::string_view text);

// Without one newline at its end, where there is one: what an editor or echo put there.
std::string without_last_newline(std::string text);

// A file that is written beside its place and put there by commit(). The constructor fails where
// the place cannot be written, so that nobody works for hours first. A file that was there gives
// its mode to the one that replaces it; a link stays and what it points to is replaced or made. A
// device or a pipe at that place is written directly.
class AtomicFile {
 public:
  explicit AtomicFile(std::string path);
  // Leaves nothing behind where commit() was not called.
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  // Writes over what was written first; write() goes on at the end. Not of a device or a pipe.
  void write_at_start(std::span<const std::byte> bytes);
  // Fails where the place is a device or a pipe.
  void require_seekable() const;
  void commit();

 private:
  void open_beside(mode_t mode);
  [[noreturn]] void fail_to_write(int error) const;

  std::string path_;       // what the user said
  std::string target_;     // with links followed
  std::string temporary_;  // the name beside it
  bool named_ = false;     // whether that name exists already
  bool direct_ = false;
  int fd_ = -1;
};

}  // namespace hearth
