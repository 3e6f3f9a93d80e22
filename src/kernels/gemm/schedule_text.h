// ScheduleEntry: the schedule of products of one shape with up to some number of rows, and its
// text, a line:
//
//   schedule q8_0 4096 1024 threads 2 rows 16 tile 1 6 slice 96 unpack 0 prefetch 8192 l2 parts 1
//       task 4 256
//
// (on one line): the pack kind, outputs and K of the product, the threads that share it, the most
// rows, and the fields of GemmSchedule; a task's panels and rows. Matrices side by side come after
// K: "q8_0 192 2048 matrices 16 threads 2" for heads, "q8_0 768 2048 matrices 8 of 128 threads 2"
// for experts. Some texts may have lines for products of all sizes and any threads ("q8_0 any any
// threads any"), and for all rows ("rows any"). The text is hostile: sizes are checked against
// their ranges here, and schedules against menus by the caller.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/gemm/schedule.h"
#include "tensor/pack_kind.h"

namespace hearth {

// A product as seen by the threads that share it. It is made of all matrices of an op that read the
// same input, as far as they lie on one shard. If all three sizes are 0, it stands for products of
// every size.
struct ProductShape {
  PackKind kind = PackKind::kF32;
  uint32_t outputs = 0;  // in whole panels
  uint32_t k = 0;        // in whole blocks
  uint32_t threads = 0;
  // The matrices of this shape that the threads multiply with side by side: heads, or the experts
  // of a row, chosen among `of_experts`. `of_experts` is 0 if they are no experts.
  uint32_t matrices = 1, of_experts = 0;

  bool is_any() const { return outputs == 0 && k == 0 && threads == 0; }
  bool operator==(const ProductShape&) const = default;
};

struct ScheduleEntry {
  ProductShape product;
  // The entry is for at most so many rows: rows of a step, or of one expert. The product's entry
  // with the most rows is used for more rows, too.
  uint32_t max_rows = 0;
  GemmSchedule schedule;

  // Whether this entry and `other` are for the same product and rows.
  bool is_case_of(const ScheduleEntry& other) const {
    return product == other.product && max_rows == other.max_rows;
  }
  bool operator==(const ScheduleEntry&) const = default;
};

// Adds to `entries` those entries of `others` whose product has none in `entries`.
void add_unnamed(std::span<const ScheduleEntry> others, std::vector<ScheduleEntry>* entries);

// Returns the line of an entry, without the line break.
std::string schedule_text(const ScheduleEntry& entry);

enum class SizesSaid : uint8_t { kAlways, kOrAny };

// Reads one such line, the `number`th of its file. Throws (kUsage) with the number and the fault.
ScheduleEntry parse_schedule(std::string_view line, uint32_t number,
                             SizesSaid said = SizesSaid::kAlways);

}  // namespace hearth
