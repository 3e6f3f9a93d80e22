// GemmSchedule: how a product with packed weights is computed, as far as the numerical contract
// (gemm.h) leaves that open, so no value of it changes a bit of the result. It says in what order
// memory is read, which bytes stay in which cache, and how work is dealt to threads.
//
// GemmMenu: the values that the kernel of a pack kind at one ISA level has, as plain data. Tiles
// are template instances, an entry each; slices, distances and thresholds are ranges. The kernel's
// default among these is data of the processor (kernels/processor_schedules.h). A schedule is
// checked against the menu once, when it is loaded (schedule_fault); kernels trust it.
//
// The last panels of a call may be fewer than a tile has. Smaller tiles then take them, with as
// many rows as these have at most.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace hearth {

// The cache that bytes are prefetched into. L2 is better if prefetches run far ahead of a tile that
// reads its weights once, since an L1 of 32 KiB has no room for them beside several rows of
// activations. (On Zen 4 L2 is 1.2 to 1.5 times as fast with 4 rows of int8, and 0.9 times with one
// row of kQ4_0 on one thread.)
enum class Cache { kL1, kL2 };

struct GemmSchedule {
  // The tile of outputs in registers: its panels side by side, and the most rows it has. 0 panels:
  // all fields are ignored, and the default for the call's rows is used.
  uint8_t tile_panels = 0, tile_rows = 0;
  Cache prefetch_to = Cache::kL1;
  // How many parts of K threads compute apart. Each part is an aligned subtree of K's segments, and
  // so a partial sum. This applies only to products whose K is cut (column-cut weights). 1: a
  // thread computes all of K.
  uint8_t k_parts = 1;
  // How many blocks of K a slice has. It stays in a cache while all tiles of rows go by. A call
  // that fits one tile of rows has one slice.
  uint16_t slice = 0;
  // The least number of rows for which weights are unpacked once for all tiles of rows.
  uint16_t unpack_rows = 0;
  // How many bytes ahead of each load codes are prefetched; 0: no prefetches. If a call has several
  // tiles of rows and so prefetches the next slice instead, it matters only whether this is 0.
  uint16_t prefetch = 0;
  // How many panels and rows a thread computes as one task. 0: the defaults of
  // graph/ops/gemm_tasks.h.
  uint16_t task_panels = 0, task_rows = 0;

  bool is_default() const { return tile_panels == 0; }
  bool operator==(const GemmSchedule&) const = default;
};

struct TileRange {
  uint8_t panels;
  uint8_t min_rows, max_rows;
  // The tile that is used in place of this one if weights are unpacked. 0 panels: this tile itself;
  // 0 rows: as many as this tile has.
  uint8_t unpacked_panels = 0, unpacked_rows = 0;
  bool operator==(const TileRange&) const = default;
};

struct ValueRange {
  uint16_t least, most;
  bool has(uint32_t value) const { return least <= value && value <= most; }
};

struct RowsDefault {
  uint32_t max_rows;  // of a call
  GemmSchedule schedule;
};

inline constexpr uint32_t kAnyRows = ~0u;
// An unpack_rows that no call reaches, so weights are never unpacked.
inline constexpr uint16_t kNeverUnpack = 0xffff;

// The ranges that most menus have: of unpack_rows, for kinds that can be unpacked or not, and of
// prefetch.
constexpr ValueRange unpack_thresholds(bool unpacks) {
  return unpacks ? ValueRange{1, kNeverUnpack} : ValueRange{0, 0};
}
inline constexpr ValueRange kPrefetchRange{0, 16384};

// Returns the schedule of the first entry whose max_rows is at least `rows`.
inline const GemmSchedule& schedule_for(std::span<const RowsDefault> by_rows, uint32_t rows) {
  size_t i = 0;
  while (rows > by_rows[i].max_rows) ++i;
  return by_rows[i].schedule;
}

struct GemmMenu {
  std::span<const TileRange> tiles;
  ValueRange slice;
  ValueRange unpack_rows;  // {0, 0}: nothing to unpack
  ValueRange prefetch;
  bool to_l2;  // whether prefetches may go to L2
};

// The ranges of the fields that ops read and kernels do not, the same at every level. A tile of a
// task's outputs fits the scratch of an op if panels times rows are at most kMaxTaskTile.
inline constexpr ValueRange kTaskPanelsRange{1, 64}, kTaskRowsRange{16, 1024};
inline constexpr uint32_t kMaxTaskTile = 16384;
inline constexpr ValueRange kPartsRange{1, 8};  // powers of two

// Returns the first field of the schedule that is not on the menu, as a clause: "slice is 0, not 4
// to 96"; empty if all are.
std::string schedule_fault(const GemmSchedule& schedule, const GemmMenu& menu);

}  // namespace hearth
