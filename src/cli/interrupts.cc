#include "cli/interrupts.h"

namespace hearth {
namespace {

// Whether a signal came is kept where the kernel keeps what becomes of the next one: this function
// stands there until the first, the usual effect from then on.
void become_usual(int) { std::signal(SIGINT, SIG_DFL); }

}  // namespace

Interrupts::Interrupts() {
  sigaction(SIGINT, nullptr, &before_);
  // A job in the background of a script is not for the terminal to interrupt.
  if (before_.sa_handler == SIG_IGN) return;
  struct sigaction once {};
  once.sa_handler = become_usual;
  once.sa_flags = SA_RESTART;
  sigaction(SIGINT, &once, nullptr);
}

Interrupts::~Interrupts() { sigaction(SIGINT, &before_, nullptr); }

bool Interrupts::received() const {
  struct sigaction now {};
  sigaction(SIGINT, nullptr, &now);
  return now.sa_handler == SIG_DFL;
}

void Interrupts::die_if_received() const {
  if (received()) raise(SIGINT);
}

}  // namespace hearth
