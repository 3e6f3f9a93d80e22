#include "cli/text_io.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <utility>

#include "base/error.h"

namespace hearth {
namespace {

constexpr size_t kReadBytes = 1 << 16;
constexpr mode_t kUsualMode = 0666;  // less what the umask forbids
constexpr mode_t kPermissions = 0777;
constexpr int kMostLinks = 40;  // what the kernel follows

// errno, or 0 once all is written.
int write_all(int fd, const char* data, size_t size) {
  while (size > 0) {
    ssize_t written = ::write(fd, data, size);
    if (written < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    data += written;
    size -= static_cast<size_t>(written);
  }
  return 0;
}

// Where a path leads in the end, whether or not there is anything.
std::string behind_links(std::filesystem::path path) {
  std::error_code none;
  for (int links = 0; links < kMostLinks && std::filesystem::is_symlink(path, none); ++links) {
    path = path.parent_path() / std::filesystem::read_symlink(path, none);
  }
  return path;
}

std::string read_all(int fd, const std::string& name) {
  std::string text;
  for (;;) {
    size_t size = text.size();
    text.resize(size + kReadBytes);
    ssize_t got = ::read(fd, text.data() + size, kReadBytes);
    text.resize(size + static_cast<size_t>(got > 0 ? got : 0));
    if (got == 0) return text;
    if (got < 0 && errno != EINTR) {
      fail(ErrorCode::kFile, "{} cannot be read: {}", name, std::strerror(errno));
    }
  }
}

}  // namespace

std::string read_text(const std::string& path) {
  if (path == "-") return read_all(STDIN_FILENO, "standard input");
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) fail(ErrorCode::kFile, "'{}' cannot be opened: {}", path, std::strerror(errno));
  auto close_fd = [](const int* open_fd) { ::close(*open_fd); };
  std::unique_ptr<int, decltype(close_fd)> closer(&fd, close_fd);
  return read_all(fd, fmt::format("'{}'", path));
}

void write_stdout(std::string_view text) {
  if (int error = write_all(STDOUT_FILENO, text.data(), text.size())) {
    fail(ErrorCode::kFile, "standard output cannot be written: {}", std::strerror(error));
  }
}

bool stdin_is_terminal() { return ::isatty(STDIN_FILENO) != 0; }
bool stdout_is_terminal() { return ::isatty(STDOUT_FILENO) != 0; }
bool stderr_is_terminal() { return ::isatty(STDERR_FILENO) != 0; }

void print_note(std::string_view text) { fmt::print(stderr, "hearth: note: {}\n", text); }

std::string without_last_newline(std::string text) {
  if (text.ends_with('\n')) text.pop_back();
  if (text.ends_with('\r')) text.pop_back();
  return text;
}

AtomicFile::AtomicFile(std::string path) : path_(std::move(path)) {
  struct stat status {};
  bool exists = ::stat(path_.c_str(), &status) == 0;
  // Links that lead round in a circle lead nowhere.
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
  // The umask is for new files. A file system that has no modes gives all files the same anyway.
  if (exists && !direct_) ::fchmod(fd_, status.st_mode & kPermissions);
}

// A file without a name vanishes whatever ends the process; not every file system has them.
void AtomicFile::open_beside(mode_t mode) {
  size_t slash = target_.rfind('/');
  std::string folder = slash == std::string::npos ? "." : target_.substr(0, slash + 1);
  temporary_ = fmt::format("{}.{}.tmp", target_, ::getpid());
  fd_ = ::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, mode);
  if (fd_ >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) return;
  fd_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  named_ = fd_ >= 0;
}

AtomicFile::~AtomicFile() {
  if (fd_ >= 0) ::close(fd_);
  if (named_) ::unlink(temporary_.c_str());
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  int error = write_all(fd_, reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (error != 0) fail_to_write(error);
}

void AtomicFile::write_at_start(std::span<const std::byte> bytes) {
  off_t at = 0;
  while (!bytes.empty()) {
    // The file's own position stays.
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

void AtomicFile::fail_to_write(int error) const {
  fail(ErrorCode::kFile, "'{}' cannot be written: {}", path_, std::strerror(error));
}

}  // namespace hearth
