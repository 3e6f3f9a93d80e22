#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace hearth {

void check_failed(const char* file, int line, const char* condition, const char* message) {
  std::fprintf(stderr, "hearth: internal error at %s:%d: %s (%s)\n", file, line, message,
               condition);
  std::abort();
}

}  // namespace hearth
