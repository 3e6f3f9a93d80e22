// HEARTH_CHECK(condition, message) guards against errors that only a bug in this program can cause,
// in every build: it prints the place and the message to standard error and aborts. It is never
// used for errors that a user or a file can cause.
#pragma once

namespace hearth {

[[noreturn]] void check_failed(const char* file, int line, const char* condition,
                               const char* message);

}  // namespace hearth

#define HEARTH_CHECK(condition, message)                                 \
  do {                                                                   \
    if (!(condition)) [[unlikely]]                                       \
      ::hearth::check_failed(__FILE__, __LINE__, #condition, (message)); \
  } while (false)
