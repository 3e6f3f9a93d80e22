#include "threads/pin.h"

#include <sched.h>

#include <algorithm>
#include <cerrno>

namespace hearth {
namespace {

// Holds a cpu_set_t for `cpus` CPUs, freed at the end of its scope.
class CpuMask {
 public:
  explicit CpuMask(size_t cpus) : bytes_(CPU_ALLOC_SIZE(cpus)), set_(CPU_ALLOC(cpus)) {
    if (set_ != nullptr) CPU_ZERO_S(bytes_, set_);
  }
  ~CpuMask() {
    if (set_ != nullptr) CPU_FREE(set_);
  }
  CpuMask(const CpuMask&) = delete;
  CpuMask& operator=(const CpuMask&) = delete;

  cpu_set_t* get() const { return set_; }
  size_t bytes() const { return bytes_; }

 private:
  size_t bytes_;
  cpu_set_t* set_;
};

}  // namespace

int set_affinity(int tid, const std::vector<uint32_t>& pus) noexcept {
  if (pus.empty()) return EINVAL;
  CpuMask mask(size_t{*std::max_element(pus.begin(), pus.end())} + 1);
  if (mask.get() == nullptr) return ENOMEM;
  for (uint32_t pu : pus) CPU_SET_S(pu, mask.bytes(), mask.get());
  return sched_setaffinity(tid, mask.bytes(), mask.get()) == 0 ? 0 : errno;
}

std::vector<uint32_t> get_affinity(int tid) {
  // The kernel refuses masks smaller than its own, whose size it doesn't tell.
  for (size_t cpus = 1024; cpus <= size_t{1} << 20; cpus *= 2) {
    CpuMask mask(cpus);
    if (mask.get() == nullptr) return {};
    if (sched_getaffinity(tid, mask.bytes(), mask.get()) != 0) {
      if (errno == EINVAL) continue;
      return {};
    }
    std::vector<uint32_t> pus;
    for (uint32_t pu = 0; pu < cpus; ++pu) {
      if (CPU_ISSET_S(pu, mask.bytes(), mask.get())) pus.push_back(pu);
    }
    return pus;
  }
  return {};
}

}  // namespace hearth
