#include "formats/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace hearth {

namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

[[noreturn]] void fail_to_open(const std::string& path, int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      fail(ErrorCode::kFile, "'{}' does not exist; check the path", path);
    case EACCES:
      fail(ErrorCode::kFile, "this user may not read '{}'; check its permissions", path);
    default:
      fail(ErrorCode::kFile, "cannot open '{}': {}; check the path and the device", path,
           std::strerror(error));
  }
}

}  // namespace

MappedFile MappedFile::open(const std::string& path) {
  // O_NONBLOCK lets a FIFO open without waiting for a writer; it is refused below.
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) fail_to_open(path, errno);
  struct stat status = {};
  if (fstat(file.get(), &status) != 0) fail_to_open(path, errno);
  if (S_ISDIR(status.st_mode)) {
    fail(ErrorCode::kFile, "'{}' is a folder: give the path of a model file in it", path);
  }
  if (!S_ISREG(status.st_mode)) {
    fail(ErrorCode::kFile,
         "'{}' is not a regular file and cannot be mapped into memory; copy it to a disk first",
         path);
  }
  if (status.st_size <= 0) fail(ErrorCode::kFile, "'{}' is empty; download it again", path);
  size_t size = static_cast<size_t>(status.st_size);
  void* base = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (base == MAP_FAILED) {
    fail(ErrorCode::kFile,
         "cannot map '{}' ({} bytes) into memory: {}; check the limit of the address space (ulimit "
         "-v) and the file system",
         path, size, std::strerror(errno));
  }
  MappedFile mapped(path, {static_cast<const std::byte*>(base), size}, true);
  mapped.stamp_ = {status.st_dev, status.st_ino, size, status.st_mtim.tv_sec,
                   status.st_mtim.tv_nsec};
  mapped.guard_ = CutGuard(mapped.bytes_);
  return mapped;
}

MappedFile MappedFile::view(std::span<const std::byte> bytes, std::string name) {
  return MappedFile(std::move(name), bytes, false);
}

MappedFile MappedFile::own(std::vector<std::byte> bytes, std::string name) {
  MappedFile file(std::move(name), {}, false);
  file.owned_ = std::move(bytes);
  file.bytes_ = file.owned_;
  return file;
}

MappedFile MappedFile::zeros(size_t size, std::string name) {
  void* base = mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) {
    fail(ErrorCode::kResource,
         "'{}': cannot reserve {} bytes of address space: {}; check ulimit -v", name, size,
         std::strerror(errno));
  }
  return MappedFile(std::move(name), {static_cast<const std::byte*>(base), size}, true);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : name_(std::move(other.name_)),
      bytes_(std::exchange(other.bytes_, {})),
      mapped_(std::exchange(other.mapped_, false)),
      owned_(std::move(other.owned_)),
      stamp_(other.stamp_),
      guard_(std::move(other.guard_)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(name_, other.name_);
  std::swap(bytes_, other.bytes_);
  std::swap(mapped_, other.mapped_);
  std::swap(owned_, other.owned_);
  std::swap(stamp_, other.stamp_);
  std::swap(guard_, other.guard_);
  return *this;
}

MappedFile::~MappedFile() {
  // The guard must end before another map may take these addresses.
  guard_ = CutGuard();
  if (mapped_) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

void MappedFile::require_whole() const {
  if (guard_.was_cut()) {
    fail(ErrorCode::kFile,
         "'{}' was truncated while it was read, or its disk fails: load it again once the file is "
         "complete",
         name_);
  }
  struct stat now = {};
  // A file that was renamed or removed keeps its contents in the map.
  if (stamp_.inode == 0 || stat(name_.c_str(), &now) != 0) return;
  if (now.st_dev != stamp_.device || now.st_ino != stamp_.inode) return;
  if (static_cast<uint64_t>(now.st_size) == stamp_.size && now.st_mtim.tv_sec == stamp_.seconds &&
      now.st_mtim.tv_nsec == stamp_.nanoseconds) {
    return;
  }
  fail(ErrorCode::kFile,
       "'{}' was changed while it was read: load it again once nothing writes to it", name_);
}

size_t MappedFile::cached_bytes() const {
  // mincore() writes a byte for every page: the file is checked in steps, so that few bytes are
  // needed.
  constexpr size_t kStepPages = size_t{1} << 16;
  if (!mapped_) return bytes_.size();
  auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> in_cache(kStepPages);
  size_t cached = 0;
  for (size_t at = 0; at < bytes_.size(); at += kStepPages * page) {
    size_t length = std::min(kStepPages * page, bytes_.size() - at);
    if (mincore(const_cast<std::byte*>(bytes_.data()) + at, length, in_cache.data()) != 0) {
      return bytes_.size();
    }
    for (size_t offset = 0; offset < length; offset += page) {
      if ((in_cache[offset / page] & 1) != 0) cached += std::min(page, length - offset);
    }
  }
  return cached;
}

void MappedFile::release(size_t offset, size_t length) const {
  if (!mapped_ || offset >= bytes_.size()) return;
  size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  size_t end = offset + std::min(length, bytes_.size() - offset);
  size_t first = (offset + page - 1) / page * page;
  // The last page may be released as a whole, since behind the file's end it holds no bytes of the
  // file.
  size_t last = end == bytes_.size() ? end : end / page * page;
  if (first >= last) return;
  // The mapping is private and clean, so the kernel can only drop pages or ignore the call; neither
  // is an error.
  madvise(const_cast<std::byte*>(bytes_.data()) + first, last - first, MADV_DONTNEED);
}

}  // namespace hearth
