#include <fcntl.h>
#include <unistd.h>

#include <csignal>

#include "cli/program.h"

int main(int argc, char** argv) {
  // Restores SIGPIPE's default action, which the parent may have disabled: the program ends when
  // its reader closes, as other tools do.
  signal(SIGPIPE, SIG_DFL);
  // Opens missing standard streams, so that no other file gets their numbers. They are read-only,
  // so writing fails.
  for (int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDONLY) < 0) return 1;
  }
  return hearth::run_program({argv + 1, argv + argc});
}
