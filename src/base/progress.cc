#include "base/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/clock.h"
#include "base/tell.h"

namespace hearth {
namespace {

constexpr double kFirstAfter = 1, kInterval = 0.1;
constexpr size_t kDefaultColumns = 80;

size_t terminal_columns() {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kDefaultColumns;
  return size.ws_col;
}

}  // namespace

std::string duration_text(double seconds) {
  auto whole = static_cast<uint64_t>(std::ceil(std::max(seconds, 0.0)));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

std::string progress_text(std::string_view label, uint64_t done, uint64_t total, double seconds,
                          const AmountText& amount, std::string_view note, double max_left) {
  std::string text(label);
  if (total > 0) {
    text += fmt::format("  {} %  {} of {}", 100 * std::min(done, total) / total, amount(done),
                        amount(total));
  } else {
    text += fmt::format("  {}", amount(done));
  }
  if (done > 0 && seconds > 0) {
    double rate = static_cast<double>(done) / seconds;
    text += fmt::format("  {}/s", amount(static_cast<uint64_t>(rate)));
    if (total > done) {
      const double left = std::min(max_left, static_cast<double>(total - done) / rate);
      text += fmt::format("  {} left", duration_text(left));
    }
  }
  if (!note.empty()) text += fmt::format("  {}", note);
  return text;
}

Progress::Progress(std::string label, uint64_t total, AmountText amount)
    : Progress(std::move(label), total, std::move(amount),
               isatty(STDERR_FILENO) ? write_stderr : Out(), terminal_columns(), steady_seconds) {}

Progress::Progress(std::string label, uint64_t total, AmountText amount, Out out, size_t columns,
                   Clock clock)
    : label_(std::move(label)),
      total_(total),
      amount_(std::move(amount)),
      out_(std::move(out)),
      columns_(columns),
      clock_(std::move(clock)),
      start_(clock_()),
      next_(start_ + kFirstAfter) {}

void Progress::update(uint64_t done, std::string_view note, double max_left) {
  if (!out_) return;
  double now = clock_();
  if (now < next_) return;
  next_ = now + kInterval;
  std::string text = progress_text(label_, done, total_, now - start_, amount_, note, max_left);
  // A line that reaches the last column would wrap, and could not be rewritten.
  if (text.size() + 1 > columns_) text.resize(columns_ > 0 ? columns_ - 1 : 0);
  out_(fmt::format("\r{}\x1b[K", text));
  shown_ = true;
}

void Progress::finish() {
  if (!shown_) return;
  shown_ = false;
  out_("\r\x1b[K");
}

}  // namespace hearth
