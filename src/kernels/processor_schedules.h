// ProcessorSchedules: how the kernels of some processors compute what nobody tuned: a text file, as
// `hearth tune --export` writes it. Those of schedules/ are part of the program: any.txt is for all
// processors, and says of every kernel what it does by default; another processor is another file.
//
//   hearth-schedules 1
//   # Why it is so, behind such a sign.
//   processor GenuineIntel family any model any
//   isa avx512bw
//   attend places 4
//   isa avx512
//   schedule q8_0,q2_k any any threads any rows 3 tile 4 3 slice 96 unpack 0 prefetch 3072 l1
//       parts 1 task 0 0
//   schedule q8_0,q2_k any any threads any rows any tile 2 6 ...
//
// (a schedule on one line). The processor is named as /proc/cpuinfo does (topology/processor.h):
// its vendor, with _ for a space, or `any`; a family and a model: a number, `any`, or 26+ for that
// number and all above. Of several files that are for a processor, what the special one says of a
// kernel is in place of all that the others say of it: one that names the vendor before one that
// does not, then the family, then the model.
//
// Lines behind `isa` are for the kernels of that level, at every level that takes them from it:
//
//   attend places   from how many places in turn a page of the cache is prefetched, 1 or 4
//                   (AttendArgs::four_places); 1 where no line says
//   schedule        of a pack kind (kernels/gemm/schedule_text.h), by ascending rows, or of several
//                   that do alike. Of products of all sizes it says what the kernel itself does, by
//                   its menu, and nothing of tasks or parts of K, which are 0 and 1 there. Of a
//                   product of one size it is for the engine (engine/tuned_plan.h).
//
// Errors (kFile): a text that is none; a line that nobody knows, with its number.
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
    uint32_t attend_places = 0;  // 0: it does not say
    std::vector<ScheduleEntry> entries;
    bool operator==(const Level&) const = default;
  };

  std::string vendor;  // empty: any
  Numbers family, model;
  std::vector<Level> levels;

  bool is_for(const Processor& processor) const;
  bool operator==(const ProcessorSchedules&) const = default;
};

// `name` stands in errors.
ProcessorSchedules parse_processor_schedules(std::string_view text, const std::string& name);
std::string processor_schedules_text(const ProcessorSchedules& schedules);

// Returns the schedules that are part of the program, in the order of their files' names.
std::vector<ProcessorSchedules> shipped_processors();
// Returns those of the program's schedules that are for the processor, special ones behind others.
std::vector<ProcessorSchedules> schedules_for(const Processor& processor);

}  // namespace hearth
