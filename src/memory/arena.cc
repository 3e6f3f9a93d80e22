#include "memory/arena.h"

#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <utility>

#include "base/bytes_text.h"
#include "base/check.h"
#include "base/error.h"
#include "base/round_up.h"

// MADV_POPULATE_WRITE came with Linux 5.14; older C library headers lack the name.
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace hearth {
namespace {

std::byte* align_pointer(void* pointer, size_t align) {
  return reinterpret_cast<std::byte*>(round_up(reinterpret_cast<uintptr_t>(pointer), align));
}

// Parses a line of /proc/self/smaps if it opens a mapping: "7f00-7f80 rw-p ...".
bool parse_range(const std::string& line, uintptr_t* begin, uintptr_t* end) {
  char* rest = nullptr;
  *begin = std::strtoull(line.c_str(), &rest, 16);
  if (rest == line.c_str() || *rest != '-') return false;
  *end = std::strtoull(rest + 1, &rest, 16);
  return *rest == ' ';
}

}  // namespace

Arena::Arena(const Machine& machine, uint32_t node, size_t bytes, std::string name, Binding binding)
    : name_(std::move(name)), node_(machine.memory_node(node)), binding_(binding) {
  if (node_ != node) {
    notes_.push_back(fmt::format("NUMA node {} has no memory: {} is placed on node {}",
                                 machine.nodes[node].os_index, name_,
                                 machine.nodes[node_].os_index));
  }
  size_t page = bytes >= kHugePageBytes ? kHugePageBytes : static_cast<size_t>(getpagesize());
  if (bytes > SIZE_MAX / 2) {
    fail(ErrorCode::kResource,
         "{} would need {}, more than the address space: use a smaller model or context", name_,
         bytes_text(bytes));
  }
  capacity_ = round_up(bytes, page);
  if (capacity_ == 0) return;
  try {
    map(machine);
  } catch (...) {
    unmap();
    throw;
  }
}

Arena::~Arena() { unmap(); }

Arena::Arena(Arena&& other) noexcept { *this = std::move(other); }

Arena& Arena::operator=(Arena&& other) noexcept {
  if (this == &other) return *this;
  unmap();
  name_ = std::move(other.name_);
  notes_ = std::move(other.notes_);
  node_ = other.node_;
  page_kind_ = other.page_kind_;
  binding_ = other.binding_;
  bound_ = other.bound_;
  base_ = std::exchange(other.base_, nullptr);
  capacity_ = std::exchange(other.capacity_, 0);
  used_ = std::exchange(other.used_, 0);
  mapping_ = std::exchange(other.mapping_, nullptr);
  mapping_bytes_ = std::exchange(other.mapping_bytes_, 0);
  return *this;
}

void Arena::unmap() noexcept {
  if (mapping_ != nullptr) munmap(mapping_, mapping_bytes_);
  mapping_ = nullptr;
}

void Arena::map(const Machine& machine) {
  if (machine.source == MachineSource::kLive && map_explicit_huge(machine)) return;
  // An unreadable page lies after the region. It stops overruns, and keeps the kernel from joining
  // the region with another one, so that smaps has separate numbers for this region.
  mapping_bytes_ = capacity_ + kHugePageBytes + static_cast<size_t>(getpagesize());
  void* mapping =
      mmap(nullptr, mapping_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping != MAP_FAILED) {
    mapping_ = mapping;
    base_ = align_pointer(mapping, kHugePageBytes);
  }
  if (mapping == MAP_FAILED || mprotect(base_, capacity_, PROT_READ | PROT_WRITE) != 0) {
    fail(ErrorCode::kResource,
         "the system refuses {} of address space for {} ({}): check ulimit -v and "
         "vm.overcommit_memory",
         bytes_text(capacity_), name_, std::strerror(errno));
  }
  if (capacity_ >= kHugePageBytes) {
    if (madvise(base_, capacity_, MADV_HUGEPAGE) != 0) {
      notes_.push_back(
          fmt::format("no transparent huge pages for {} ({})", name_, std::strerror(errno)));
    } else if (machine.source != MachineSource::kDescribed && machine.thp == ThpMode::kNever) {
      notes_.push_back(
          fmt::format("no transparent huge pages for {}: "
                      "/sys/kernel/mm/transparent_hugepage/enabled is \"never\"",
                      name_));
    } else {
      page_kind_ = PageKind::kTransparentHuge;
    }
  }
  if (machine.binds_memory()) bind(machine);
}

bool Arena::map_explicit_huge(const Machine& machine) {
  uint64_t pages = capacity_ / kHugePageBytes;
  if (pages == 0 || machine.nodes[node_].free_2m < pages) return false;
  void* mapping = mmap(nullptr, capacity_, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | (21 << MAP_HUGE_SHIFT), -1, 0);
  if (mapping == MAP_FAILED) return false;
  mapping_ = mapping;
  mapping_bytes_ = capacity_;
  base_ = static_cast<std::byte*>(mapping);
  if (machine.binds_memory()) bind(machine);
  // The kernel counts free pages of all nodes together, so only touching the pages shows whether
  // this node has enough. Here the kernel touches them and reports an error if it has not, while a
  // store to a missing page would kill the process.
  if (madvise(base_, capacity_, MADV_POPULATE_WRITE) != 0) {
    notes_.push_back(fmt::format("2 MiB pages for {} are refused ({}), transparent ones are used",
                                 name_, std::strerror(errno)));
    unmap();
    base_ = nullptr;
    bound_ = false;
    return false;
  }
  page_kind_ = PageKind::kExplicitHuge;
  return true;
}

void Arena::bind(const Machine& machine) {
  constexpr size_t kWordBits = 8 * sizeof(unsigned long);
  std::vector<unsigned long> mask;
  auto add = [&](const NumaNode& node) {
    mask.resize(std::max<size_t>(mask.size(), node.os_index / kWordBits + 1), 0);
    mask[node.os_index / kWordBits] |= 1UL << node.os_index % kWordBits;
  };
  if (binding_ == Binding::kInterleaved) {
    for (const NumaNode& node : machine.nodes) {
      if (node.memory_bytes > 0 && node.memory_allowed) add(node);
    }
  } else {
    add(machine.nodes[node_]);
  }
  int mode = binding_ == Binding::kInterleaved ? MPOL_INTERLEAVE : MPOL_BIND;
  // The kernel reads one bit fewer of the mask than maxnode says.
  if (syscall(SYS_mbind, base_, capacity_, mode, mask.data(), mask.size() * kWordBits + 1, 0) ==
      0) {
    bound_ = true;
    return;
  }
  int error = errno;
  const char* remedy =
      error == EPERM ? "; the container's seccomp profile must allow mbind, or give it CAP_SYS_NICE"
                     : "";
  notes_.push_back(fmt::format(
      "{} could not be bound to NUMA node {} ({}): it is placed where it is first used{}", name_,
      machine.nodes[node_].os_index, std::strerror(error), remedy));
}

std::byte* Arena::allocate(size_t bytes, size_t align) {
  HEARTH_CHECK(align != 0 && (align & (align - 1)) == 0 && align <= kHugePageBytes,
               "a power of two up to 2 MiB");
  size_t offset = round_up(used_, align);
  HEARTH_CHECK(offset <= capacity_ && bytes <= capacity_ - offset, "arenas are planned to fit");
  used_ = offset + bytes;
  return base_ + offset;
}

size_t Arena::huge_bytes() const {
  std::ifstream smaps("/proc/self/smaps");
  auto first = reinterpret_cast<uintptr_t>(base_);
  bool inside = false;
  size_t kib = 0;
  for (std::string line; std::getline(smaps, line);) {
    uintptr_t begin = 0, end = 0;
    if (parse_range(line, &begin, &end)) {
      inside = begin < first + capacity_ && first < end;
      continue;
    }
    if (!inside) continue;
    for (const char* field : {"AnonHugePages:", "Private_Hugetlb:"}) {
      if (line.starts_with(field))
        kib += std::strtoull(line.c_str() + std::strlen(field), nullptr, 10);
    }
  }
  return kib << 10;
}

void check_memory(uint64_t needed, const std::string& what, const Machine& machine) {
  uint64_t available = machine.memory_available;
  if (machine.source == MachineSource::kDescribed || available == 0 || needed <= available) return;
  std::string limit;
  if (machine.memory_limit) {
    limit = fmt::format(" (the cgroup's limit is {})", bytes_text(*machine.memory_limit));
  }
  fail(ErrorCode::kResource,
       "{} needs {}, and {} are available{}: use a smaller quantisation or context, or free memory",
       what, bytes_text(needed), bytes_text(available), limit);
}

void check_node_memory(uint64_t needed, const std::string& what, const Machine& machine,
                       uint32_t node) {
  const NumaNode& home = machine.nodes[machine.memory_node(node)];
  uint64_t available = home.available_bytes;
  if (!machine.binds_memory() || available == 0 || needed <= available) return;
  fail(ErrorCode::kResource,
       "{} needs {} on NUMA node {}, and {} are available there: use more nodes, or free memory on "
       "it",
       what, bytes_text(needed), home.os_index, bytes_text(available));
}

}  // namespace hearth
