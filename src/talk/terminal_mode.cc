#include "talk/terminal_mode.h"

#include <sys/ioctl.h>
#include <unistd.h>

namespace hearth {
namespace {

constexpr unsigned kUsualColumns = 80;

}  // namespace

unsigned terminal_columns() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kUsualColumns;
  return size.ws_col;
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
