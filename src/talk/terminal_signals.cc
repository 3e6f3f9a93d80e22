#include "talk/terminal_signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <cstdlib>

#include "base/error.h"

namespace hearth {
namespace {

constexpr int kWatched[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH};
constexpr int kSignalStatus = 128;

bool is_ignored(int signal) {
  struct sigaction now {};
  sigaction(signal, nullptr, &now);
  return now.sa_handler == SIG_IGN;
}

void let_through(int signal) {
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, signal);
  pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
}

}  // namespace

TerminalSignals::TerminalSignals() {
  sigset_t watched;
  sigemptyset(&watched);
  for (int signal : kWatched) {
    if (!is_ignored(signal)) sigaddset(&watched, signal);
  }
  fd_ = signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
  if (fd_ < 0)
    fail(ErrorCode::kResource,
         "cannot create a descriptor for signals: raise the limit on open files (ulimit -n)");
  pthread_sigmask(SIG_BLOCK, &watched, &before_);
}

TerminalSignals::~TerminalSignals() {
  // Takes all pending signals: left in the queue, they would end the process when they are
  // unblocked.
  while (next() != 0) {
  }
  close(fd_);
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

int TerminalSignals::next() const {
  signalfd_siginfo info;
  return read(fd_, &info, sizeof info) == sizeof info ? static_cast<int>(info.ssi_signo) : 0;
}

bool TerminalSignals::ends(int signal) {
  return signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT;
}

void TerminalSignals::stop_process() {
  sigset_t one, before;
  sigemptyset(&one);
  sigaddset(&one, SIGTSTP);
  // The kernel drops the signal if no process could continue this one, such as a shell.
  raise(SIGTSTP);
  pthread_sigmask(SIG_UNBLOCK, &one, &before);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void TerminalSignals::die_of(int signal) {
  std::signal(signal, SIG_DFL);
  let_through(signal);
  raise(signal);
  std::_Exit(kSignalStatus + signal);
}

}  // namespace hearth
