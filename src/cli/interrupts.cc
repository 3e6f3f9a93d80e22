#include "cli/interrupts.h"

#include <ctime>

namespace hearth {
namespace {

sigset_t only_sigint() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  return set;
}

}  // namespace

Interrupts::Interrupts() {
  sigset_t held = only_sigint();
  pthread_sigmask(SIG_BLOCK, &held, &before_);
}

Interrupts::~Interrupts() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

bool Interrupts::received() {
  if (received_) return true;
  struct sigaction usual {};
  sigaction(SIGINT, nullptr, &usual);
  // A job in the background of a script is not for the terminal to interrupt.
  if (usual.sa_handler == SIG_IGN) return false;
  sigset_t held = only_sigint();
  timespec no_time{};
  if (sigtimedwait(&held, nullptr, &no_time) != SIGINT) return false;
  received_ = true;
  pthread_sigmask(SIG_UNBLOCK, &held, nullptr);
  return true;
}

void Interrupts::die_if_received() {
  sigset_t pending;
  sigpending(&pending);
  if (sigismember(&pending, SIGINT) != 1) return;
  sigset_t held = only_sigint();
  pthread_sigmask(SIG_UNBLOCK, &held, nullptr);
}

}  // namespace hearth
