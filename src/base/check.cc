#include "base/check.h"

#include <cstdio>
#include <cstdlib>

#include "base/tell.h"

namespace hearth {

void check_failed(const char* file, int line, const char* condition, const char* message) {
  // No memory is allocated: the heap may be damaged.
  char text[1024];
  std::snprintf(text, sizeof text, "hearth: internal error at %s:%d: %s (%s)\n", file, line,
                message, condition);
  write_stderr(text);
  std::abort();
}

}  // namespace hearth
