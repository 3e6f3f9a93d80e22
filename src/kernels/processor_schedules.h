// ProcessorSchedules: the default schedules of kernels on some processors, and their text file,
// which `hearth tune --export` writes. The files in schedules/ are part of the program: any.txt is
// for all processors and has a default for every kernel. Each other file is for some processors.
//
//   hearth-schedules 1
//   # A comment.
//   processor GenuineIntel family any model any
//   isa avx512bw
//   attend places 4
//   isa avx512
//   schedule q8_0,q2_k any any threads any rows 3 tile 4 3 slice 96 unpack 0 prefetch 3072 l1
//       parts 1 task 0 0
//   schedule q8_0,q2_k any any threads any rows any tile 2 6 ...
//
// (a schedule on one line). The processor is named as in /proc/cpuinfo (topology/processor.h): its
// vendor, with _ for a space, or `any`; a family and a model: a number, `any`, or 26+ for that
// number and all above. If several files are for a processor, the more special one replaces all
// that the others say of a kernel. A file that names the vendor is more special than one that does
// not, then one that names the family, then one that names the model.
//
// Lines behind `isa` are for the kernels of that level, and for every level that uses these
// kernels:
//
//   attend places   from how many places in turn a page of the cache is prefetched, 1 or 4
//                   (AttendArgs::four_places); 1 if no line says
//   schedule        for one pack kind (kernels/gemm/schedule_text.h) or several, by ascending rows.
//                   A line for products of all sizes sets the kernel's own values, by its menu; its
//                   tasks and parts of K are 0 and 1. A line for products of one size is used by
//                   the engine (engine/tuned_plan.h).
//
// Errors (kFile): a text that is no such file; an unknown line, with its number.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/gemm/schedule_text.h"
#include "topology/cpu_features.h"
#include "topology/processor.h"

namespace hearth {

struct ProcessorSchedules {
  struct Numbers {
    uint32_t least = 0, most = std::numeric_limits<uint32_t>::max();
    bool has(uint32_t number) const { return least <= number && number <= most; }
    bool operator==(const Numbers&) const = default;
  };
  struct Level {
    Isa isa = Isa::kReference;
    uint32_t attend_places = 0;  // 0: not set
    std::vector<ScheduleEntry> entries;
    bool operator==(const Level&) const = default;
  };

  std::string vendor;  // empty: any
  Numbers family, model;
  std::vector<Level> levels;

  bool is_for(const Processor& processor) const;
  bool operator==(const ProcessorSchedules&) const = default;
};

// Reads a file's text; `name` stands in errors.
ProcessorSchedules parse_processor_schedules(std::string_view text, const std::string& name);
std::string processor_schedules_text(const ProcessorSchedules& schedules);

// Returns the schedules that are part of the program, in the order of their files' names.
std::vector<ProcessorSchedules> shipped_processors();
// Returns those of the program's schedules that are for the processor, the more special ones last.
std::vector<ProcessorSchedules> schedules_for(const Processor& processor);

}  // namespace hearth
