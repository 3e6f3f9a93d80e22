#include "replaced_new.h"

#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

void* allocate(size_t bytes) noexcept {
  return hearth::may_allocate() ? std::malloc(bytes > 0 ? bytes : 1) : nullptr;
}

}  // namespace

// Each form of new stands beside its delete. If one were missing, a sanitizer's own would take its
// place, which does not fit to free(). The forms for arrays call these. None is inlined, since g++
// would then report a mismatched pair.
[[gnu::noinline]] void* operator new(size_t bytes) {
  void* got = allocate(bytes);
  if (got == nullptr) throw std::bad_alloc();
  return got;
}
[[gnu::noinline]] void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  return allocate(bytes);
}
[[gnu::noinline]] void operator delete(void* at) noexcept { std::free(at); }
[[gnu::noinline]] void operator delete(void* at, size_t) noexcept { std::free(at); }
[[gnu::noinline]] void operator delete(void* at, const std::nothrow_t&) noexcept { std::free(at); }
