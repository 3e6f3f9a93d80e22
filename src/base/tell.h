// Writes lines for people to standard error. Writing never fails the work and never holds it up.
// Where standard error is closed or broken, its disk is full or its reader is gone, a line is lost.
// Where it is a pipe, a socket or a terminal that nobody reads, a line waits for a tenth of a
// second and is then lost. No other file writes to standard error (tests/house checks that).
//
// Thread-safe. The descriptor is shared with other programs and keeps its flags.
#pragma once

#include <fmt/format.h>

#include <exception>
#include <string_view>
#include <utility>

namespace hearth {

// The outcome of writing bytes.
enum class WriteEnd {
  kAll,     // all are written
  kFull,    // the rest would have to wait for a reader
  kBroken,  // the rest cannot be written
};

// Writes as much as `fd` takes without waiting for a reader, and removes that from `text`. Raises
// no SIGPIPE. (A disk may still be slow.)
WriteEnd write_now(int fd, std::string_view* text) noexcept;

// Waits up to `milliseconds`; returns whether `fd` can take bytes, or is broken.
bool wait_writable(int fd, int milliseconds) noexcept;

// Writes to standard error as described above.
void write_stderr(std::string_view text) noexcept;

// Formats a text and writes it to standard error. The text is lost where there is no memory for it.
template <typename... Args>
void print_stderr(fmt::format_string<Args...> format, Args&&... args) noexcept {
  try {
    write_stderr(fmt::format(format, std::forward<Args>(args)...));
  } catch (const std::exception&) {
  }
}

}  // namespace hearth
