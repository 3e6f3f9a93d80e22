// A file's bytes, read only, by mmap: nothing is read before it is touched, and pages can be
// released once they were copied. Can also be made from memory, for tests and fuzzers. Errors
// (kFile): the path does not exist, is a folder or a device, cannot be read or is empty. Model
// files are replaced by renaming, never rewritten in place. If another process truncates a mapped
// file, it reads as zeros from its new end on; pages that a failing disk cannot read are zeros,
// too. After reading, require_whole() throws in both cases.
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
  // Wraps bytes of the caller's, which must outlive the object; `name` stands in for the path in
  // messages.
  static MappedFile view(std::span<const std::byte> bytes, std::string name);
  // Wraps bytes that the object keeps.
  static MappedFile own(std::vector<std::byte> bytes, std::string name);
  // Returns a file of `size` zeros, which take no memory.
  static MappedFile zeros(size_t size, std::string name);

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  const std::string& name() const { return name_; }
  // The span stays valid when the object is moved.
  std::span<const std::byte> bytes() const { return bytes_; }
  // Returns whether the bytes are those of a file, which open(name()) would open again.
  bool is_mapped() const { return mapped_ && stamp_.inode != 0; }

  // Throws (kFile) if the bytes that were read may differ from the file as it was at open(): it was
  // truncated or written to, or could not be read.
  void require_whole() const;

  // Tells that [offset, offset + length) is not needed any more: the whole pages in it leave this
  // process's memory. They may be read again, from the page cache or the disk. Does nothing for
  // bytes in memory.
  void release(size_t offset, size_t length) const;

  // Returns how many of the bytes can be read without the disk: those in the page cache now, in
  // whole pages (mincore(2)). All for bytes in memory, and if the system does not say.
  size_t cached_bytes() const;

 private:
  MappedFile(std::string name, std::span<const std::byte> bytes, bool mapped)
      : name_(std::move(name)), bytes_(bytes), mapped_(mapped) {}

  // Identifies the file that was opened, so that a change can be noticed.
  struct Stamp {
    uint64_t device = 0, inode = 0, size = 0;
    int64_t seconds = 0, nanoseconds = 0;  // time of the last change
  };

  std::string name_;
  std::span<const std::byte> bytes_;
  bool mapped_ = false;
  std::vector<std::byte> owned_;
  Stamp stamp_;  // all zero for bytes in memory
  CutGuard guard_;
};

}  // namespace hearth
