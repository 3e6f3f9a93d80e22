// Memory of one run of a graph for tests: zeros from the heap, aligned as ContextMemory asks.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "graph/context.h"
#include "graph/sync_layout.h"

namespace hearth {

class TestMemory {
 public:
  explicit TestMemory(const Graph& graph) {
    for (size_t bytes : graph.activation_bytes) memory_.activations.push_back(block(bytes));
    for (size_t bytes : SyncLayout(graph).bytes) memory_.sync.push_back(block(bytes));
  }

  operator const ContextMemory&() const { return memory_; }

 private:
  struct alignas(kLineSpacing) Line {
    std::byte bytes[kLineSpacing];
  };

  std::byte* block(size_t bytes) {
    blocks_.push_back(std::make_unique<Line[]>(bytes / sizeof(Line) + 1));
    return blocks_.back()[0].bytes;
  }

  std::vector<std::unique_ptr<Line[]>> blocks_;
  ContextMemory memory_;
};

}  // namespace hearth
