// An Arena is one region of memory on one NUMA node, reserved at start and handed out in order. Its
// pages are bound to the node before anything touches them (mbind(2), MPOL_BIND), and are as large
// as possible: explicit 2 MiB pages if enough of them are free, else transparent huge pages, else 4
// KiB. huge_bytes() and notes() tell which pages it got.
//
// Binding is skipped if it has no effect (Machine::binds_memory()). A binding or a page size that
// the system refuses is a note, not an error. Memory reads as zeros at first. Only one thread at a
// time may use an arena.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "topology/machine.h"

namespace hearth {

inline constexpr size_t kHugePageBytes = size_t{2} << 20;

enum class PageKind { kSmall, kTransparentHuge, kExplicitHuge };

enum class Binding {
  kNode,         // all pages on the arena's node
  kInterleaved,  // on all nodes in turn, as if a program placed no pages
};

class Arena {
 public:
  // Holds `bytes` on the node with index `node` of `machine` or, if that node has no memory, on the
  // nearest node that has. `bytes` are rounded up to whole pages: of 2 MiB from 2 MiB on. Throws
  // kResource if the address space or lock limits do not allow it. check_memory() checks whether
  // the memory exists.
  Arena(const Machine& machine, uint32_t node, size_t bytes, std::string name,
        Binding binding = Binding::kNode);
  ~Arena();
  Arena(Arena&& other) noexcept;
  Arena& operator=(Arena&& other) noexcept;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // `align` is a power of two, up to 2 MiB. Sizes are planned, so overflow is a bug and checked.
  std::byte* allocate(size_t bytes, size_t align = 64);

  std::byte* data() const { return base_; }
  size_t capacity() const { return capacity_; }
  size_t used() const { return used_; }
  uint32_t node() const { return node_; }
  const std::string& name() const { return name_; }

  // Returns the kind of pages asked of the kernel. Memory lies in transparent huge pages only once
  // it is touched (huge_bytes()).
  PageKind page_kind() const { return page_kind_; }
  bool bound() const { return bound_; }
  // Returns sentences on what the system refused, a binding or a page size; none if it refused
  // nothing.
  const std::vector<std::string>& notes() const { return notes_; }

  // Returns how many touched bytes lie in huge pages now, from /proc/self/smaps; 0 if unreadable.
  size_t huge_bytes() const;

 private:
  void map(const Machine& machine);
  bool map_explicit_huge(const Machine& machine);
  void bind(const Machine& machine);
  void unmap() noexcept;

  std::string name_;
  uint32_t node_ = 0;
  std::byte* base_ = nullptr;
  size_t capacity_ = 0;
  size_t used_ = 0;
  PageKind page_kind_ = PageKind::kSmall;
  Binding binding_ = Binding::kNode;
  bool bound_ = false;
  std::vector<std::string> notes_;
  void* mapping_ = nullptr;  // the mapping: base_ lies in it at a multiple of 2 MiB
  size_t mapping_bytes_ = 0;
};

// Throws kResource if `needed` bytes are more than this machine has to give now (of all nodes, and
// of cgroup limits). The error names `what`, the figures and the remedy. Call it before any memory
// is touched. A machine that is only described, or whose memory is unknown, passes.
void check_memory(uint64_t needed, const std::string& what, const Machine& machine);

// Does what check_memory() does, for memory that is bound to one node. If that node is full, the
// kernel kills the process even if other nodes have memory left.
void check_node_memory(uint64_t needed, const std::string& what, const Machine& machine,
                       uint32_t node);

}  // namespace hearth
