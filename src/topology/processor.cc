#include "topology/processor.h"

#include <fmt/format.h>

#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace hearth {

Processor processor_here() {
  Processor found;
#if defined(__x86_64__)
  uint32_t a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(0, &a, &b, &c, &d) == 0) return found;
  // The vendor's name comes in three registers.
  char name[12];
  std::memcpy(name, &b, 4);
  std::memcpy(name + 4, &d, 4);
  std::memcpy(name + 8, &c, 4);
  found.vendor.assign(name, sizeof name);
  if (__get_cpuid(1, &a, &b, &c, &d) == 0) return found;
  const uint32_t base = a >> 8 & 0xf, extended = a >> 20 & 0xff;
  found.family = base == 0xf ? base + extended : base;
  found.model = a >> 4 & 0xf;
  if (found.family >= 6) found.model |= (a >> 16 & 0xf) << 4;
#elif defined(__aarch64__)
  if ((getauxval(AT_HWCAP) & HWCAP_CPUID) == 0) return found;
  uint64_t midr = 0;
  asm("mrs %0, midr_el1" : "=r"(midr));
  found.vendor = fmt::format("{:#04x}", midr >> 24 & 0xff);
  found.family = static_cast<uint32_t>(midr >> 4 & 0xfff);
  found.model = static_cast<uint32_t>(midr >> 20 & 0xf);
#endif
  return found;
}

}  // namespace hearth
