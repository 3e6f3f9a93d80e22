// ScheduleEntry: how products of one shape are computed in steps of some rows, and its text, a
// line:
//
//   schedule q8_0 4096 1024 threads 2 rows 16 tile 1 6 slice 96 unpack 0 prefetch 8192 l2 parts 1
//       task 4 256
//
// (on one line): the pack kind, outputs and K of the product, the threads that share it, the most
// rows, and the fields of GemmSchedule; a task's panels and rows. Where a text may say so, a line
// is for products of all sizes, by any threads ("q8_0 any any threads any"), and for all rows
// ("rows any"). The text is hostile: what it says of sizes is held against their ranges here, and
// schedules against menus by who reads it.
#pragma once

#include <string>
#include <string_view>

#include "kernels/gemm/schedule.h"
#include "tensor/pack_kind.h"

namespace hearth {

// A product as the threads that share it see it: all matrices of an op that read the same input, as
// far as they lie on one shard. Of every size and by any threads where all three are 0.
struct ProductShape {
  PackKind kind = PackKind::kF32;
  uint32_t outputs = 0;  // in whole panels
  uint32_t k = 0;        // in whole blocks
  uint32_t threads = 0;

  bool is_any() const { return outputs == 0 && k == 0 && threads == 0; }
  bool operator==(const ProductShape&) const = default;
};

struct ScheduleEntry {
  ProductShape product;
  // The most rows of a step that it is for. A product's entry of the most rows is for more, too.
  uint32_t most_rows = 0;
  GemmSchedule schedule;
  bool operator==(const ScheduleEntry&) const = default;
};

// Without the line's end.
std::string schedule_text(const ScheduleEntry& entry);

enum class SizesSaid : uint8_t { kAlways, kOrAny };

// Reads one such line, the `number`th of its file. Throws (kUsage) with the number and the fault.
ScheduleEntry parse_schedule(std::string_view line, uint32_t number,
                             SizesSaid said = SizesSaid::kAlways);

}  // namespace hearth
