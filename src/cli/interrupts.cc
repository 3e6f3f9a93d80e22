#include "cli/interrupts.h"

namespace hearth {
namespace {

// The handler of the first SIGINT restores the default action, so received() sees that a signal
// came.
void become_usual(int) { std::signal(SIGINT, SIG_DFL); }

}  // namespace

Interrupts::Interrupts() {
  sigaction(SIGINT, nullptr, &before_);
  // A script that started the program in the background may have set SIGINT to be ignored. Then it
  // stays ignored.
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
