// A file's bytes, read only, by mmap: nothing is read before it is touched, and pages can be given
// back once they were copied. Also made from memory, for tests and fuzzers.
// Errors (kFile): the path does not exist, is a folder or a device, cannot be read or is empty.
// A file that is cut short by someone else while it is mapped ends the process with SIGBUS at the
// next touch of what was cut off: model files are replaced by renaming, never rewritten in place.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace hearth {

class MappedFile {
 public:
  static MappedFile open(const std::string& path);
  // Bytes of the caller's, which must outlive the object; `name` stands in for the path in
  // messages.
  static MappedFile view(std::span<const std::byte> bytes, std::string name);
  // Bytes that the object keeps.
  static MappedFile own(std::vector<std::byte> bytes, std::string name);
  // So many zeros, which take no memory.
  static MappedFile zeros(size_t size, std::string name);

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  const std::string& name() const { return name_; }
  // Stays where it is when the object is moved.
  std::span<const std::byte> bytes() const { return bytes_; }

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

  std::string name_;
  std::span<const std::byte> bytes_;
  bool mapped_ = false;
  std::vector<std::byte> owned_;
};

}  // namespace hearth
