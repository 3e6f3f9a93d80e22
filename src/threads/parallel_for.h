// Loops shared among the members of a team, in chunks that are claimed as members become free, so
// that a slow core or a noisy neighbour holds nobody up. Which member does what differs between
// runs; which items form a chunk does not.
//
// Bodies are noexcept. Both return when everything is done.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "base/check.h"
#include "threads/chunk_counter.h"
#include "threads/group.h"
#include "threads/team.h"

namespace hearth {

namespace parallel_for_detail {
inline uint32_t chunk_count(size_t items, size_t chunk) {
  HEARTH_CHECK(chunk > 0, "a chunk has items");
  size_t chunks = (items + chunk - 1) / chunk;
  HEARTH_CHECK(chunks < UINT32_MAX, "fewer than 2^32 chunks");
  return static_cast<uint32_t>(chunks);
}
}  // namespace parallel_for_detail

// Calls body(begin, end, member) for the chunks [begin, end) of [0, items): `chunk` items each, the
// last one maybe fewer.
template <typename Body>
void parallel_for(Team& team, size_t items, size_t chunk, const Body& body) {
  static_assert(std::is_nothrow_invocable_v<const Body&, size_t, size_t, uint32_t>);
  uint32_t chunks = parallel_for_detail::chunk_count(items, chunk);
  ChunkCounter counter;
  team.run([&](uint32_t member) noexcept {
    for (uint32_t c; (c = counter.next(1, chunks)) < chunks;) {
      body(c * chunk, std::min(items, (c + 1) * chunk), member);
    }
  });
}

// The same loop for each group over its own items, on its own members only: body(group, begin, end,
// member) over [0, items[group]). What a group first touches so lies on its node.
template <typename Body>
void parallel_for_groups(Team& team, std::span<const Group> groups, std::span<const size_t> items,
                         size_t chunk, const Body& body) {
  static_assert(std::is_nothrow_invocable_v<const Body&, size_t, size_t, size_t, uint32_t>);
  HEARTH_CHECK(groups.size() == items.size(), "a number of items for every group");
  std::vector<ChunkCounter> counters(groups.size());
  team.run([&](uint32_t member) noexcept {
    for (size_t g = 0; g < groups.size(); ++g) {
      if (!groups[g].has(member)) continue;
      uint32_t chunks = parallel_for_detail::chunk_count(items[g], chunk);
      for (uint32_t c; (c = counters[g].next(1, chunks)) < chunks;) {
        body(g, c * chunk, std::min(items[g], (c + 1) * chunk), member);
      }
    }
  });
}

}  // namespace hearth
