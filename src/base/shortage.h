// Tells whether an exception means that memory ran out, for code that catches all exceptions.
#pragma once

#include <exception>
#include <new>

namespace hearth {

inline bool is_shortage(const std::exception& error) {
  return dynamic_cast<const std::bad_alloc*>(&error) != nullptr;
}

}  // namespace hearth
