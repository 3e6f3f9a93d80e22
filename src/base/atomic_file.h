// Files that appear whole or not at all. Errors (kFile): a file that cannot be written, with the
// reason.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace hearth {

// Writes all bytes; returns 0, or errno of the first failure.
int write_all(int fd, std::string_view bytes);

// A file that is written under a temporary name and takes its place in commit(). The constructor
// throws where the place cannot be written, so that no work is lost later. A file that is replaced
// passes its mode on; a link stays, and its target is replaced or made. A device or a pipe at that
// place is written directly.
class AtomicFile {
 public:
  explicit AtomicFile(std::string path);
  // Removes the temporary file where commit() was not called.
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  // Overwrites the file's beginning; write() goes on at the end. Not for a device or a pipe.
  void write_at_start(std::span<const std::byte> bytes);
  // Throws where the place is a device or a pipe.
  void require_seekable() const;
  void commit();
  // Commits as commit() does, and returns once the contents and the name are on the disk. Not for a
  // device or a pipe.
  void commit_to_disk();

 private:
  void open_beside(mode_t mode);
  std::string folder() const;  // of the target
  [[noreturn]] void fail_to_write(int error) const;

  std::string path_;       // as the user gave it
  std::string target_;     // with links followed
  std::string temporary_;  // the temporary name in the same folder
  bool named_ = false;     // whether the temporary name exists
  bool direct_ = false;
  int fd_ = -1;
};

}  // namespace hearth
