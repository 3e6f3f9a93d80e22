// Progress: one line that tells how far a long job has come, for people who watch a terminal. It
// appears once the job has run for a second, is rewritten ten times a second at most, and is wiped
// by finish() or the destructor. Where `out` is no terminal nothing is ever written.
//
//   Progress progress("loading", file_bytes, bytes_text);
//   progress.update(done);  // "loading  34 %  1.20 GiB of 3.50 GiB  410 MiB/s  6 s left"
//
// `amount` turns a count into text for people ("1.20 GiB", "512 tokens"). Used by one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>

namespace hearth {

using AmountText = std::function<std::string(uint64_t)>;

// Returns "7 s", "3 min 05 s" or "2 h 10 min".
std::string duration_text(double seconds);

// Returns the line after `seconds` of work, with `note`, if any, at its end. A total of 0 means
// that the total is unknown. `max_left` limits the time that is shown as left.
std::string progress_text(std::string_view label, uint64_t done, uint64_t total, double seconds,
                          const AmountText& amount, std::string_view note = {},
                          double max_left = std::numeric_limits<double>::infinity());

class Progress {
 public:
  // Returns seconds since some fixed moment.
  using Clock = std::function<double()>;
  using Out = std::function<void(std::string_view)>;

  // Writes to standard error if that is a terminal, else nowhere.
  Progress(std::string label, uint64_t total, AmountText amount);
  // Writes to `out` lines of at most `columns`.
  Progress(std::string label, uint64_t total, AmountText amount, Out out, size_t columns,
           Clock clock);
  ~Progress() { finish(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void update(uint64_t done, std::string_view note = {},
              double max_left = std::numeric_limits<double>::infinity());
  // Removes the line from the terminal.
  void finish();

 private:
  std::string label_;
  uint64_t total_;
  AmountText amount_;
  Out out_;  // empty: nobody watches
  size_t columns_;
  Clock clock_;
  double start_;
  double next_;  // nothing is written before this time
  bool shown_ = false;
};

}  // namespace hearth
