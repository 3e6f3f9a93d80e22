#include "base/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/error.h"
#include "base/tell.h"

namespace hearth {
namespace {

constexpr mode_t kUsualMode = 0666;  // less the bits of the umask
constexpr mode_t kPermissions = 0777;
constexpr int kMaxLinks = 40;  // the kernel's limit

// Returns the path at the end of all links, whether or not it exists.
std::string behind_links(std::filesystem::path path) {
  std::error_code none;
  for (int links = 0; links < kMaxLinks && std::filesystem::is_symlink(path, none); ++links) {
    path = path.parent_path() / std::filesystem::read_symlink(path, none);
  }
  return path;
}

}  // namespace

int write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      // The descriptor may be shared with a program that made it non-blocking.
      if (errno != EAGAIN) return errno;
      wait_writable(fd, -1);
      continue;
    }
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return 0;
}

AtomicFile::AtomicFile(std::string path) : path_(std::move(path)) {
  struct stat status {};
  bool exists = ::stat(path_.c_str(), &status) == 0;
  // Links in a circle give ELOOP.
  if (!exists && errno != ENOENT) fail_to_write(errno);
  if (exists) {
    if (S_ISDIR(status.st_mode)) fail_to_write(EISDIR);
    if (::access(path_.c_str(), W_OK) != 0) fail_to_write(errno);
    direct_ = !S_ISREG(status.st_mode);
  }
  if (direct_) {
    fd_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
  } else {
    target_ = behind_links(path_);
    open_beside(exists ? status.st_mode & kPermissions : kUsualMode);
  }
  if (fd_ < 0) fail_to_write(errno);
  // The umask applies to new files only. A failure does not matter: some file systems have no
  // modes.
  if (exists && !direct_) ::fchmod(fd_, status.st_mode & kPermissions);
}

std::string AtomicFile::folder() const {
  size_t slash = target_.rfind('/');
  return slash == std::string::npos ? "." : target_.substr(0, slash + 1);
}

// Opens a file without a name, which vanishes however the process ends. Opens a named file where
// the file system cannot do that, or where /proc, which is needed to name the file later, is
// missing.
void AtomicFile::open_beside(mode_t mode) {
  temporary_ = fmt::format("{}.{}.tmp", target_, ::getpid());
  if (::access("/proc/self/fd", X_OK) == 0) {
    fd_ = ::open(folder().c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, mode);
    if (fd_ >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) return;
  }
  fd_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  named_ = fd_ >= 0;
}

AtomicFile::~AtomicFile() {
  if (fd_ >= 0) ::close(fd_);
  if (named_) ::unlink(temporary_.c_str());
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  int error = write_all(fd_, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (error != 0) fail_to_write(error);
}

void AtomicFile::write_at_start(std::span<const std::byte> bytes) {
  off_t at = 0;
  while (!bytes.empty()) {
    // pwrite() keeps the file's position.
    ssize_t written = ::pwrite(fd_, bytes.data(), bytes.size(), at);
    if (written < 0 && errno != EINTR) fail_to_write(errno);
    if (written <= 0) continue;
    bytes = bytes.subspan(static_cast<size_t>(written));
    at += written;
  }
}

void AtomicFile::require_seekable() const {
  if (direct_) fail_to_write(ESPIPE);
}

void AtomicFile::commit() {
  if (!direct_ && !named_) {
    std::string self = fmt::format("/proc/self/fd/{}", fd_);
    if (::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, temporary_.c_str(), AT_SYMLINK_FOLLOW) != 0) {
      fail_to_write(errno);
    }
    named_ = true;
  }
  if (::close(std::exchange(fd_, -1)) != 0) fail_to_write(errno);
  if (direct_) return;
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail_to_write(errno);
  named_ = false;
}

void AtomicFile::commit_to_disk() {
  if (::fsync(fd_) != 0) fail_to_write(errno);
  commit();
  // Some file systems cannot sync a folder; errors are ignored.
  int fd = ::open(folder().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  ::fsync(fd);
  ::close(fd);
}

void AtomicFile::fail_to_write(int error) const {
  fail(ErrorCode::kFile, "cannot write '{}': {}", path_, std::strerror(error));
}

}  // namespace hearth
