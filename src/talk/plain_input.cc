#include "talk/plain_input.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/utf8_stream.h"

namespace hearth {
namespace {

constexpr size_t kReadBytesAhead = 1 << 16;

}  // namespace

InputLine PlainInput::take_line(size_t end, size_t skipped) {
  std::string line = well_formed_utf8(std::string_view(bytes_).substr(0, end));
  bytes_.erase(0, end + skipped);
  looked_ = 0;
  if (line.ends_with('\r')) line.pop_back();
  return {InputLine::End::kLine, std::move(line)};
}

InputLine PlainInput::read() {
  for (;;) {
    const size_t end = bytes_.find('\n', looked_);
    if (end != bytes_.npos) return take_line(end, 1);
    looked_ = bytes_.size();
    if (ended_) return bytes_.empty() ? InputLine{} : take_line(bytes_.size(), 0);
    pollfd look[] = {{STDIN_FILENO, POLLIN, 0}, {signals_.fd(), POLLIN, 0}};
    poll(look, 2, -1);
    for (int signal = signals_.next(); signal != 0; signal = signals_.next()) {
      if (signal == SIGINT) return {InputLine::End::kCleared};
      if (TerminalSignals::ends(signal)) TerminalSignals::die_of(signal);
      if (signal == SIGTSTP) TerminalSignals::stop_process();
    }
    if (look[0].revents == 0) continue;
    bytes_.resize(looked_ + kReadBytesAhead);
    const ssize_t got = ::read(STDIN_FILENO, bytes_.data() + looked_, kReadBytesAhead);
    bytes_.resize(looked_ + static_cast<size_t>(std::max<ssize_t>(got, 0)));
    ended_ = got == 0 || (got < 0 && errno != EINTR);
  }
}

}  // namespace hearth
