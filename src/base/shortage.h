// Which of the exceptions says that memory ran out: what catches all of them asks.
#pragma once

#include <exception>
#include <new>

namespace hearth {

inline bool is_shortage(const std::exception& error) {
  return dynamic_cast<const std::bad_alloc*>(&error) != nullptr;
}

}  // namespace hearth
