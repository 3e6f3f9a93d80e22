// Listener receives messages and progress of long work from the library, which prints nothing
// itself. It is called from the thread that works.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace hearth {

struct Listener {
  // Receives a sentence about something that a user should know.
  std::function<void(const std::string& text)> warn = [](const std::string&) {};
  // Receives details for verbose output.
  std::function<void(const std::string& text)> detail = [](const std::string&) {};
  // Receives how many of the `total` bytes of the step `doing` are done.
  std::function<void(std::string_view doing, uint64_t done, uint64_t total)> progress =
      [](std::string_view, uint64_t, uint64_t) {};
};

}  // namespace hearth
