#include "base/tell.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <ctime>

namespace hearth {
namespace {

constexpr int kPatienceMilliseconds = 100;
// Bytes written to a terminal at a time: one that is ready may have room for less than a line.
constexpr size_t kTerminalBytes = 256;

// Suppresses SIGPIPE for this thread's writes, without changing the signal's handler.
class SigpipeHeld {
 public:
  SigpipeHeld() {
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    sigemptyset(&signal_);
    sigaddset(&signal_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &signal_, &before_);
  }
  ~SigpipeHeld() {
    const int error = errno;
    // If a signal was pending before, it is not one of ours, so it stays.
    constexpr timespec kAtOnce = {};
    while (!was_pending_ && sigtimedwait(&signal_, nullptr, &kAtOnce) < 0 && errno == EINTR) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = error;
  }
  SigpipeHeld(const SigpipeHeld&) = delete;
  SigpipeHeld& operator=(const SigpipeHeld&) = delete;

 private:
  sigset_t signal_, before_;
  bool was_pending_;
};

// Writes some of the text. A write that would wait fails with EAGAIN instead. Before Linux 6.4,
// which brought RWF_NOWAIT for pipes, a write to a pipe may still wait if another writer takes the
// room first.
ssize_t write_some(int fd, mode_t mode, std::string_view text) {
  if (S_ISSOCK(mode)) return send(fd, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (S_ISREG(mode)) return ::write(fd, text.data(), text.size());
  const size_t most = S_ISFIFO(mode) ? PIPE_BUF : kTerminalBytes;
  const iovec bytes = {const_cast<char*>(text.data()), std::min(text.size(), most)};
  if (S_ISFIFO(mode)) {
    const ssize_t written = pwritev2(fd, &bytes, 1, -1, RWF_NOWAIT);
    if (written >= 0 || (errno != EOPNOTSUPP && errno != ENOSYS && errno != EINVAL)) return written;
  }
  if (!wait_writable(fd, 0)) {
    errno = EAGAIN;
    return -1;
  }
  return ::write(fd, bytes.iov_base, bytes.iov_len);
}

}  // namespace

bool wait_writable(int fd, int milliseconds) noexcept {
  pollfd look = {fd, POLLOUT, 0};
  return poll(&look, 1, milliseconds) > 0;
}

WriteEnd write_now(int fd, std::string_view* text) noexcept {
  struct stat status = {};
  if (fstat(fd, &status) != 0) return WriteEnd::kBroken;
  const SigpipeHeld held;
  while (!text->empty()) {
    const ssize_t written = write_some(fd, status.st_mode, *text);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      return errno == EAGAIN || errno == EWOULDBLOCK ? WriteEnd::kFull : WriteEnd::kBroken;
    }
    text->remove_prefix(static_cast<size_t>(written));
  }
  return WriteEnd::kAll;
}

void write_stderr(std::string_view text) noexcept {
  // A slow reader loses no text. If nothing is read for the length of the wait, the rest is lost.
  while (write_now(STDERR_FILENO, &text) == WriteEnd::kFull) {
    if (!wait_writable(STDERR_FILENO, kPatienceMilliseconds)) return;
  }
}

}  // namespace hearth
