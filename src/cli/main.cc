#include <fcntl.h>
#include <unistd.h>

#include <csignal>

#include "cli/program.h"

int main(int argc, char** argv) {
  // A reader that goes away ends this program as it does any other, even where the parent ignores
  // the signal.
  signal(SIGPIPE, SIG_DFL);
  // A standard stream that was closed must not become the number of the next file opened. What is
  // read only refuses to be written.
  for (int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDONLY) < 0) return 1;
  }
  return hearth::run_program({argv + 1, argv + argc});
}
