// Computes how many KV pages fit into memory, and the bytes of so many KV pages with the window
// pages that stand beside them (EngineOptions::window_pages).
#pragma once

#include <cstdint>
#include <functional>

#include "engine/engine_layout.h"

namespace hearth {

// How a piece of memory is filled: by all other data, and by a number of units (pages, states).
struct UnitRoom {
  uint64_t others;                          // bytes that everything else takes
  std::function<uint64_t(uint64_t)> bytes;  // bytes that so many units take
};

// Returns the most units, `most` at most, that these bytes hold.
uint64_t units_in(uint64_t bytes, uint64_t most, const UnitRoom& room);

// Return the bytes of so many KV pages and of the window pages beside them, on one shard or on all
// shards.
uint64_t kv_bytes(const EngineLayout& layout, uint32_t shard, uint64_t pages);
uint64_t kv_bytes(const EngineLayout& layout, uint64_t pages);

// Sets the numbers of both kinds of pages.
void set_kv_pages(EngineLayout* layout, uint32_t pages);

// Returns the window pages that a sequence of any length needs for a step.
uint32_t min_window_pages(uint32_t window, const EngineOptions& options);

// Throws (kUsage) where a step of one sequence has too few window pages.
void check_window_pages(const EngineLayout& layout);

}  // namespace hearth
