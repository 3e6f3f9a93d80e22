// JsonMemory: the allocator of RapidJSON. RapidJSON does not check for null pointers, so this one
// throws std::bad_alloc where there is no memory. Its names are those that RapidJSON asks for.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>

namespace hearth {

struct JsonMemory {
  static constexpr bool kNeedFree = true;

  void* Malloc(size_t bytes) {  // NOLINT(readability-identifier-naming)
    return Realloc(nullptr, 0, bytes);
  }
  // NOLINTNEXTLINE(readability-identifier-naming)
  void* Realloc(void* old, size_t /*old_bytes*/, size_t bytes) {
    if (bytes == 0) {
      std::free(old);
      return nullptr;
    }
    void* got = std::realloc(old, bytes);
    if (got == nullptr) throw std::bad_alloc();
    return got;
  }
  static void Free(void* at) { std::free(at); }  // NOLINT(readability-identifier-naming)
};

}  // namespace hearth
