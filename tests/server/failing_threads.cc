// A library to preload. While the file named by HEARTH_FAILING_THREADS exists, pthread_create()
// fails as if a limit on threads was reached.
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*start)(void*), void* argument) {
  const char* path = std::getenv("HEARTH_FAILING_THREADS");
  if (path != nullptr && access(path, F_OK) == 0) return EAGAIN;
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto create = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
  return create(thread, attributes, start, argument);
}
