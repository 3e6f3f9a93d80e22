#include "cli/termination.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.h"

namespace hearth {
namespace {

// The end of the pipe that the signal handler writes to; a handler can reach only globals.
volatile sig_atomic_t signal_writer = -1;

constexpr char kEndByte = 'e', kHangupByte = 'h';

void note_signal(int signal) {
  int error = errno;
  if (signal != SIGHUP) {
    std::signal(SIGINT, SIG_DFL);
    std::signal(SIGTERM, SIG_DFL);
  }
  const char byte = signal == SIGHUP ? kHangupByte : kEndByte;
  [[maybe_unused]] ssize_t written = write(signal_writer, &byte, 1);
  errno = error;
}

void handle(int signal, struct sigaction* before) {
  sigaction(signal, nullptr, before);
  // A script that started the program in the background may have set SIGINT to be ignored. Then it
  // stays ignored.
  if (before->sa_handler == SIG_IGN) return;
  struct sigaction once {};
  once.sa_handler = note_signal;
  once.sa_flags = SA_RESTART;
  sigaction(signal, &once, nullptr);
}

}  // namespace

Termination::Termination() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    fail(ErrorCode::kResource, "cannot create a pipe: raise the limit on open files (ulimit -n)");
  }
  reader_ = ends[0];
  signal_writer = ends[1];
  at_terminal_ = isatty(STDERR_FILENO) != 0;
  handle(SIGINT, &interrupt_before_);
  handle(SIGHUP, &hangup_before_);
  handle(SIGTERM, &terminate_before_);
}

Termination::~Termination() {
  sigaction(SIGINT, &interrupt_before_, nullptr);
  sigaction(SIGTERM, &terminate_before_, nullptr);
  sigaction(SIGHUP, &hangup_before_, nullptr);
  close(signal_writer);
  close(reader_);
  signal_writer = -1;
}

Termination::Wish Termination::wait() const {
  // Waits by poll(), which returns after a signal; read() would be restarted. That matters under
  // ThreadSanitizer, which runs handlers only between calls, or in calls that it knows to block.
  pollfd look{reader_, POLLIN, 0};
  while (poll(&look, 1, -1) < 0 && errno == EINTR) {
  }
  char byte = kEndByte;
  if (read(reader_, &byte, 1) != 1 || byte == kEndByte) return Wish::kEnd;
  return at_terminal_ && isatty(STDERR_FILENO) == 0 ? Wish::kEnd : Wish::kReadAgain;
}

}  // namespace hearth
