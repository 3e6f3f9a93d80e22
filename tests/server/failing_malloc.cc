// A library to preload. malloc() and its kin fail at random while the test wants it.
// HEARTH_FAILING_MALLOC names a file of three 32-bit numbers that both map: how many of 2^32 calls
// fail, the least size of a call that may fail, and the number of the last draw.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>

extern "C" {
// glibc's names for the functions that are replaced here.
void* __libc_malloc(size_t bytes);                      // NOLINT
void* __libc_calloc(size_t count, size_t bytes);        // NOLINT
void* __libc_realloc(void* old, size_t bytes);          // NOLINT
void* __libc_memalign(size_t alignment, size_t bytes);  // NOLINT
}

namespace {

struct Wish {
  std::atomic<uint32_t> failures, least, draws;
};

Wish* map_wish() {
  const char* path = std::getenv("HEARTH_FAILING_MALLOC");
  if (path == nullptr) return nullptr;
  const int file = open(path, O_RDWR);
  if (file < 0) return nullptr;
  void* mapped = mmap(nullptr, sizeof(Wish), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  return mapped == MAP_FAILED ? nullptr : static_cast<Wish*>(mapped);
}

// The finaliser of splitmix64 (Steele, Lea and Flood 2014).
uint64_t mixed(uint64_t number) {
  number *= 0x9e3779b97f4a7c15u;
  number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9u;
  number = (number ^ (number >> 27)) * 0x94d049bb133111ebu;
  return number ^ (number >> 31);
}

bool fails(size_t bytes) {
  static Wish* const wish = map_wish();
  if (wish == nullptr || wish->failures == 0 || bytes < wish->least) return false;
  if (static_cast<uint32_t>(mixed(++wish->draws)) >= wish->failures) return false;
  errno = ENOMEM;
  return true;
}

}  // namespace

extern "C" {

void* malloc(size_t bytes) { return fails(bytes) ? nullptr : __libc_malloc(bytes); }
void* calloc(size_t count, size_t bytes) {
  return fails(count * bytes) ? nullptr : __libc_calloc(count, bytes);
}
void* realloc(void* old, size_t bytes) {
  return fails(bytes) ? nullptr : __libc_realloc(old, bytes);
}
void* memalign(size_t alignment, size_t bytes) {
  return fails(bytes) ? nullptr : __libc_memalign(alignment, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) { return memalign(alignment, bytes); }
int posix_memalign(void** out, size_t alignment, size_t bytes) {
  void* found = memalign(alignment, bytes);
  if (found == nullptr) return ENOMEM;
  *out = found;
  return 0;
}

}  // extern "C"
