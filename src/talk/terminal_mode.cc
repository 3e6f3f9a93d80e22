#include "talk/terminal_mode.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <csignal>

namespace hearth {
namespace {

constexpr unsigned kUsualColumns = 80;

}  // namespace

unsigned terminal_columns() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kUsualColumns;
  return size.ws_col;
}

LentTerminal::LentTerminal()
    : own_(getpgrp()),
      terminal_(tcgetattr(STDIN_FILENO, &modes_) == 0),
      foreground_(terminal_ && tcgetpgrp(STDIN_FILENO) == own_) {}

void LentTerminal::give(pid_t group) const {
  // Blocks SIGTTOU: a background process may only set the terminal's group while that signal is
  // blocked.
  sigset_t one, before;
  sigemptyset(&one);
  sigaddset(&one, SIGTTOU);
  pthread_sigmask(SIG_BLOCK, &one, &before);
  if (foreground_) tcsetpgrp(STDIN_FILENO, group);
  if (terminal_) tcsetattr(STDIN_FILENO, TCSADRAIN, &modes_);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

QuietTerminal::QuietTerminal() : terminal_(tcgetattr(STDIN_FILENO, &before_) == 0) { quieten(); }

void QuietTerminal::restore() {
  if (terminal_) tcsetattr(STDIN_FILENO, TCSADRAIN, &before_);
}

void QuietTerminal::quieten() {
  if (!terminal_) return;
  termios quiet = before_;
  quiet.c_lflag &= ~static_cast<tcflag_t>(ECHO | ECHONL | ICANON);
  tcsetattr(STDIN_FILENO, TCSADRAIN, &quiet);
}

}  // namespace hearth
