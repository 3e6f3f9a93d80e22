#include "engine/kv_size.h"

#include <algorithm>

#include "base/error.h"
#include "graph/step_view.h"

namespace hearth {
namespace {

uint32_t min_window_pages(const EngineLayout& layout) {
  return min_window_pages(layout.kv.window(), layout.options);
}

// Returns the bytes of a page on all shards.
uint64_t page_bytes(const KvView& kv, uint32_t shards, KvKind kind) {
  uint64_t bytes = 0;
  for (uint32_t s = 0; s < shards; ++s) bytes += kv.page_bytes(s, kind);
  return bytes;
}

// Returns the number of window pages beside `pages` KV pages (EngineOptions::window_pages).
uint64_t window_pages_beside(const EngineLayout& layout, uint64_t pages) {
  const EngineOptions& options = layout.options;
  const KvView& kv = layout.kv;
  if (kv.window() == 0) return 0;
  if (options.window_pages != 0) return std::min<uint64_t>(pages, options.window_pages);
  if (options.kv_pages != 0) return pages;
  const uint64_t context = pages_for(options.context), least = min_window_pages(layout);
  const uint64_t windows =
      options.sequences * std::min<uint64_t>(context, max_window_pages(kv.window()));
  const uint64_t step = pages_for(options.prefill_rows);
  uint64_t wanted = 0;
  if (options.asks_kv_size()) {
    const uint64_t full = page_bytes(kv, layout.shard_count(), KvKind::kFull);
    const uint64_t half = pages * full / page_bytes(kv, layout.shard_count(), KvKind::kWindow);
    wanted = std::min(2 * windows + step, half);
  } else {
    const uint64_t all = options.sequences * context;
    wanted = ((windows + step) * std::min(pages, all) + all - 1) / all;
  }
  return std::min(pages, std::max(least, wanted));
}

}  // namespace

uint32_t min_window_pages(uint32_t window, const EngineOptions& options) {
  return std::min(max_window_pages(window) + pages_for(options.prefill_rows),
                  pages_for(options.context));
}

uint64_t units_in(uint64_t bytes, uint64_t most, const UnitRoom& room) {
  uint64_t held = 0, too_many = most + 1;
  while (too_many - held > 1) {
    const uint64_t units = held + (too_many - held) / 2;
    (room.bytes(units) <= bytes ? held : too_many) = units;
  }
  return held;
}

void set_kv_pages(EngineLayout* layout, uint32_t pages) {
  layout->kv.set_page_count(pages);
  layout->kv.set_page_count(static_cast<uint32_t>(window_pages_beside(*layout, pages)),
                            KvKind::kWindow);
}

uint64_t kv_bytes(const EngineLayout& layout, uint32_t shard, uint64_t pages) {
  return layout.kv.page_bytes(shard, KvKind::kFull) * pages +
         layout.kv.page_bytes(shard, KvKind::kWindow) * window_pages_beside(layout, pages);
}

uint64_t kv_bytes(const EngineLayout& layout, uint64_t pages) {
  uint64_t bytes = 0;
  for (uint32_t s = 0; s < layout.shard_count(); ++s) bytes += kv_bytes(layout, s, pages);
  return bytes;
}

void check_window_pages(const EngineLayout& layout) {
  if (layout.kv.window() == 0) return;
  const uint32_t least = std::min(min_window_pages(layout), layout.kv.page_count());
  if (layout.kv.page_count(KvKind::kWindow) >= least) return;
  fail_field(ErrorCode::kUsage, "window_pages",
             "is {}, and one step of one sequence needs {}: raise it or lower prefill_rows",
             layout.kv.page_count(KvKind::kWindow), least);
}

}  // namespace hearth
