// The text of an entry of a ScheduleTable, a line:
//
//   schedule q8_0 4096 1024 threads 2 rows 16 tile 1 6 slice 96 unpack 0 prefetch 8192 l2 parts 1
//       task 4 256
//
// (on one line): the pack kind, outputs and K of the product, the threads that share it, the most
// rows, and the fields of GemmSchedule; a task's panels and rows. The text is hostile: what it says
// of sizes is held against their ranges here, and schedules against menus by check_schedules().
#pragma once

#include <string>
#include <string_view>

#include "graph/schedule_table.h"

namespace hearth {

// Without the line's end.
std::string schedule_text(const ScheduleEntry& entry);

// Reads one such line, the `number`th of its file. Throws (kUsage) with the number and the fault.
ScheduleEntry parse_schedule(std::string_view line, uint32_t number);

}  // namespace hearth
