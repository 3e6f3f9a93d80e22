// Processor: vendor, family and model of this machine's processor, as in Linux's /proc/cpuinfo.
// They are the key of the table of schedules (kernels/processor_schedules.h). x86: CPUID leaves 0
// and 1 (Intel SDM volume 2; AMD APM volume 3, appendix E), which most hypervisors pass through.
// ARM: MIDR_EL1, if the kernel shows it (Documentation/arm64/cpu-feature-registers.rst).
#pragma once

#include <cstdint>
#include <string>

namespace hearth {

struct Processor {
  std::string vendor;   // "GenuineIntel", "AuthenticAMD"; ARM: the implementer, "0x41"
  uint32_t family = 0;  // AMD: 25 for Zen 3 and 4, 26 for Zen 5. ARM: the part
  uint32_t model = 0;   // ARM: the variant
  bool operator==(const Processor&) const = default;
};

// Returns this machine's processor; its vendor is empty if unknown.
Processor processor_here();

}  // namespace hearth
