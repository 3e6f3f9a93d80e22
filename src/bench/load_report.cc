#include "bench/load_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/bytes_text.h"
#include "base/check.h"
#include "bench/figure_text.h"

namespace hearth {
LoadFigures load_figures(const LoadResult& result) {
  HEARTH_CHECK(!result.repetitions.empty(), "figures come from repetitions");
  LoadFigures f;
  std::vector<double> seconds, packing, copying, shares;
  f.huge_bytes = result.repetitions[0].huge_bytes;
  f.copy_huge_bytes = result.repetitions[0].copy_huge_bytes;
  for (const LoadRepetition& repetition : result.repetitions) {
    seconds.push_back(repetition.seconds);
    packing.push_back(repetition.packing_seconds);
    copying.push_back(repetition.copying_seconds);
    shares.push_back(repetition.copying_seconds / repetition.packing_seconds);
    if (repetition.peak_bytes) {
      f.peak_bytes = std::max(f.peak_bytes.value_or(0), *repetition.peak_bytes);
    }
    f.huge_bytes = std::min(f.huge_bytes, repetition.huge_bytes);
    f.copy_huge_bytes = std::min(f.copy_huge_bytes, repetition.copy_huge_bytes);
  }
  auto bytes = static_cast<double>(result.file_bytes);
  f.seconds = spread_of(seconds);
  f.packing_seconds = spread_of(packing);
  f.copying_seconds = spread_of(copying);
  f.share = spread_of(shares);
  f.packed_per_second = bytes / f.packing_seconds.median;
  f.copied_per_second = bytes / f.copying_seconds.median;
  return f;
}

Cells load_cells(uint32_t threads, const LoadResult& result) {
  LoadFigures f = load_figures(result);
  return {{"threads", fmt::format("{}", threads)},
          {"matrices", bytes_text(result.file_bytes)},
          {"packed", bytes_text(result.packed_bytes)},
          {"load", duration_figure(f.seconds.median)},
          {"min .. max", fmt::format("{} .. {}", duration_figure(f.seconds.least),
                                     duration_figure(f.seconds.most))},
          {"packing", duration_figure(f.packing_seconds.median)},
          {"GB/s", giga_text(f.packed_per_second)},
          {"copy GB/s", giga_text(f.copied_per_second)},
          {"of copy", percent_text(f.share.median)},
          {"peak", f.peak_bytes ? bytes_text(*f.peak_bytes) : "-"},
          {"planned", bytes_text(result.planned_bytes)},
          {"huge pages", bytes_text(f.huge_bytes)}};
}

Cells load_csv(const LoadResult& result) {
  LoadFigures f = load_figures(result);
  return {{"matrix_bytes", csv_number(result.file_bytes)},
          {"packed_bytes", csv_number(result.packed_bytes)},
          {"repetitions", csv_number(uint64_t{result.repetitions.size()})},
          {"seconds", csv_number(f.seconds.median)},
          {"seconds_min", csv_number(f.seconds.least)},
          {"seconds_max", csv_number(f.seconds.most)},
          {"packing_seconds", csv_number(f.packing_seconds.median)},
          {"copying_seconds", csv_number(f.copying_seconds.median)},
          {"packed_gb_per_second", csv_number(f.packed_per_second * 1e-9)},
          {"copied_gb_per_second", csv_number(f.copied_per_second * 1e-9)},
          {"share_of_copy", csv_number(f.share.median)},
          {"peak_bytes", f.peak_bytes ? csv_number(*f.peak_bytes) : ""},
          {"planned_bytes", csv_number(result.planned_bytes)},
          {"huge_page_bytes", csv_number(f.huge_bytes)},
          {"copy_huge_page_bytes", csv_number(f.copy_huge_bytes)}};
}

void load_json(Json& json, const LoadResult& result) {
  LoadFigures f = load_figures(result);
  json.object().key("matrix_bytes").number(result.file_bytes);
  json.key("packed_bytes").number(result.packed_bytes);
  add_spread(json, "seconds", f.seconds);
  add_spread(json, "packing_seconds", f.packing_seconds);
  add_spread(json, "copying_seconds", f.copying_seconds);
  json.key("packed_gb_per_second").real(f.packed_per_second * 1e-9);
  json.key("copied_gb_per_second").real(f.copied_per_second * 1e-9);
  add_spread(json, "share_of_copy", f.share);
  json.key("peak_bytes").number(f.peak_bytes);
  json.key("planned_bytes").number(result.planned_bytes);
  json.key("huge_page_bytes").number(f.huge_bytes);
  json.key("copy_huge_page_bytes").number(f.copy_huge_bytes);
  json.key("repetitions").array();
  for (const LoadRepetition& repetition : result.repetitions) {
    json.object().key("seconds").real(repetition.seconds);
    json.key("packing_seconds").real(repetition.packing_seconds);
    json.key("copying_seconds").real(repetition.copying_seconds);
    json.key("peak_bytes").number(repetition.peak_bytes).end_object();
  }
  json.end_array().end_object();
}

}  // namespace hearth
