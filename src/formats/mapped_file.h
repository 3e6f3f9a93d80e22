// A file's bytes, read only, by mmap: nothing is read before it is touched, and pages can be given
// back once they were copied. Also made from memory, for tests and fuzzers.
// Errors (kFile): the path does not exist, is a folder or a device, cannot be read or is empty.
// Model files are replaced by renaming, never rewritten in place. One that is cut short by someone
// else while it is mapped reads as zeros from there on, as does one whose disk fails: whoever has
// read it calls require_whole(), which says so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "formats/cut_guard.h"

namespace hearth {

class MappedFile {
 public:
  static MappedFile open(const std::string& path);
  // Bytes of the caller's, which must outlive the object; `name` stands in for the path in
  // messages.
  static MappedFile view(std::span<const std::byte> bytes, std::string name);
  // Bytes that the object keeps.
  static MappedFile own(std::vector<std::byte> bytes, std::string name);
  // Returns a file of so many zeros, which take no memory.
  static MappedFile zeros(size_t size, std::string name);

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  const std::string& name() const { return name_; }
  // Stays where it is when the object is moved.
  std::span<const std::byte> bytes() const { return bytes_; }
  // Whether the bytes are those of a file, which open(name()) gives as well.
  bool is_mapped() const { return mapped_ && stamp_.inode != 0; }

  // Throws (kFile) where what was read since open() is not what the file held then: it was cut
  // short or written to, or could not be read.
  void require_whole() const;

  // The caller is done with [offset, offset + length): the whole pages in it leave this process's
  // memory. They may be read again, from the page cache or the disk. Does nothing for bytes in
  // memory.
  void release(size_t offset, size_t length) const;

  // How many of the bytes can be read without the disk: those in the page cache now, in whole
  // pages. All of them for bytes in memory, and where the system does not tell (mincore(2)).
  size_t cached_bytes() const;

 private:
  MappedFile(std::string name, std::span<const std::byte> bytes, bool mapped)
      : name_(std::move(name)), bytes_(bytes), mapped_(mapped) {}

  // Identifies the file that was opened, so that it is known again.
  struct Stamp {
    uint64_t device = 0, inode = 0, size = 0;
    int64_t seconds = 0, nanoseconds = 0;  // of the last change
  };

  std::string name_;
  std::span<const std::byte> bytes_;
  bool mapped_ = false;
  std::vector<std::byte> owned_;
  Stamp stamp_;  // all zero for bytes in memory
  CutGuard guard_;
};

}  // namespace hearth
