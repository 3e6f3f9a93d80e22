// Files that appear whole or not at all. Errors (kFile): what cannot be written, with the reason.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace hearth {

// Returns errno, or 0 once all is written.
int write_all(int fd, std::string_view bytes);

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
  // The same, and what was written and its name are on the disk before it returns. Not of a device
  // or a pipe.
  void commit_to_disk();

 private:
  void open_beside(mode_t mode);
  std::string folder() const;  // of the target
  [[noreturn]] void fail_to_write(int error) const;

  std::string path_;       // what the user said
  std::string target_;     // with links followed
  std::string temporary_;  // the name beside it
  bool named_ = false;     // whether that name exists already
  bool direct_ = false;
  int fd_ = -1;
};

}  // namespace hearth
