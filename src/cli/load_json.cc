#include "cli/load_json.h"

#include "bench/load_figures.h"
#include "cli/spread_json.h"

namespace hearth {
namespace {

void add_peak(Json& json, const std::optional<uint64_t>& peak) {
  json.key("peak_bytes");
  if (peak) {
    json.number(*peak);
  } else {
    json.null();
  }
}

}  // namespace

void add_loads(Json& json, const LoadResult& result) {
  LoadFigures f = load_figures(result);
  json.key("loads").object().key("matrix_bytes").number(result.file_bytes);
  json.key("packed_bytes").number(result.packed_bytes);
  add_spread(json, "seconds", f.seconds);
  add_spread(json, "packing_seconds", f.packing_seconds);
  add_spread(json, "copying_seconds", f.copying_seconds);
  json.key("packed_gb_per_second").real(f.packed_per_second * 1e-9);
  json.key("copied_gb_per_second").real(f.copied_per_second * 1e-9);
  add_spread(json, "share_of_copy", f.share);
  add_peak(json, f.peak_bytes);
  json.key("planned_bytes").number(result.planned_bytes);
  json.key("huge_page_bytes").number(f.huge_bytes);
  json.key("copy_huge_page_bytes").number(f.copy_huge_bytes);
  json.key("repetitions").array();
  for (const LoadRepetition& repetition : result.repetitions) {
    json.object().key("seconds").real(repetition.seconds);
    json.key("packing_seconds").real(repetition.packing_seconds);
    json.key("copying_seconds").real(repetition.copying_seconds);
    add_peak(json, repetition.peak_bytes);
    json.end_object();
  }
  json.end_array().end_object();
}

}  // namespace hearth
