// Listener: who is told what happens while something long is made. The library writes nowhere by
// itself. Called from the thread that works.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace hearth {

struct Listener {
  // Something went on that a user would want to know of; a sentence.
  std::function<void(const std::string& text)> warn = [](const std::string&) {};
  // Hears of details that matter only to a reader who looks for them.
  std::function<void(const std::string& text)> detail = [](const std::string&) {};
  // Bytes done of all that `doing` takes.
  std::function<void(std::string_view doing, uint64_t done, uint64_t total)> progress =
      [](std::string_view, uint64_t, uint64_t) {};
};

}  // namespace hearth
