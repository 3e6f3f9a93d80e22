#include "bench/kernel_report.h"

#include <fmt/format.h>

#include "base/ascii.h"
#include "base/spread.h"
#include "bench/figure_text.h"

namespace hearth {
namespace {

const ContenderResult* find_other(const KernelResult& result, const std::string& name) {
  for (const ContenderResult& other : result.others) {
    if (other.name == name && !other.seconds.empty()) return &other;
  }
  return nullptr;
}

// Returns "12.3 us" or "12.3 ms": a product may take microseconds.
std::string short_time_text(double seconds) {
  return seconds < 1e-3 ? fmt::format("{:.1f} us", 1e6 * seconds) : duration_figure(seconds);
}

std::string size_text(const KernelResult& result) {
  std::string text = fmt::format("{} x {}", result.shape.rows, result.shape.k);
  if (result.rows < result.shape.rows) text += fmt::format(" ({} of it)", result.rows);
  return text;
}

void add_times(Json& json, const std::vector<double>& seconds) {
  json.key("seconds").array();
  for (double s : seconds) json.real(s);
  Spread spread = spread_of(seconds);
  json.end_array().key("median_seconds").real(spread.median).key("min_seconds").real(spread.least);
}

void add_other(Json& json, const KernelResult& result, const ContenderResult& other) {
  json.object().key("library").text(other.name);
  json.key("implementation").text(other.implementation);
  add_times(json, other.seconds);
  ContenderShare share = share_of(result, other);
  json.key("share").real(share.median).key("best_share").real(share.best).end_object();
}

}  // namespace

KernelFigures kernel_figures(const KernelResult& result, const LimitSample& best) {
  KernelFigures f;
  auto bytes = static_cast<double>(result.bytes);
  double peak = best.ops[static_cast<size_t>(result.unit)];
  f.seconds = spread_of(result.seconds).median;
  f.bytes_per_second = bytes / f.seconds;
  f.ops_per_second = result.operations() / f.seconds;
  f.read_share = f.bytes_per_second / best.read;
  f.peak_share = f.ops_per_second / peak;
  f.bound_by_reading = bytes / best.read > result.operations() / peak;
  return f;
}

ContenderShare share_of(const KernelResult& ours, const ContenderResult& theirs) {
  Spread a = spread_of(ours.seconds), b = spread_of(theirs.seconds);
  return {b.median / a.median, b.least / a.least};
}

Cells kernel_cells(uint32_t threads, const KernelResult& result, const LimitSample& best,
                   const std::vector<std::string>& others) {
  KernelFigures f = kernel_figures(result, best);
  bool reads = f.bound_by_reading;
  Cells cells = {{"threads", fmt::format("{}", threads)},
                 {"type", std::string(result.shape.type.name)},
                 {"matrix", result.shape.roles},
                 {"rows x k", size_text(result)},
                 {"m", fmt::format("{}", result.m)},
                 {"time", short_time_text(f.seconds)},
                 {"rate", reads ? giga_text(f.bytes_per_second) + " GB/s"
                                : giga_text(f.ops_per_second) + " GOPS"},
                 {"share", percent_text(reads ? f.read_share : f.peak_share)},
                 {"of", reads ? "read" : arithmetic_unit_name(result.unit)}};
  for (const std::string& name : others) {
    const ContenderResult* other = find_other(result, name);
    cells.emplace_back("of " + name, other ? percent_text(share_of(result, *other).median) : "-");
  }
  return cells;
}

Cells kernel_csv(const KernelResult& result, const LimitSample& best,
                 const std::vector<std::string>& others) {
  KernelFigures f = kernel_figures(result, best);
  Cells cells = {{"weight_type", std::string(result.shape.type.name)},
                 {"roles", result.shape.roles},
                 {"rows", csv_number(uint64_t{result.shape.rows})},
                 {"k", csv_number(uint64_t{result.shape.k})},
                 {"measured_rows", csv_number(uint64_t{result.rows})},
                 {"m", csv_number(uint64_t{result.m})},
                 {"copies", csv_number(uint64_t{result.copies})},
                 {"bytes", csv_number(result.bytes)},
                 {"repetitions", csv_number(uint64_t{result.seconds.size()})},
                 {"seconds", csv_number(f.seconds)},
                 {"gb_per_second", csv_number(f.bytes_per_second * 1e-9)},
                 {"read_share", csv_number(f.read_share)},
                 {"gops", csv_number(f.ops_per_second * 1e-9)},
                 {"unit", arithmetic_unit_name(result.unit)},
                 {"peak_share", csv_number(f.peak_share)}};
  for (const std::string& name : others) {
    const ContenderResult* other = find_other(result, name);
    std::string seconds = other ? csv_number(spread_of(other->seconds).median) : "";
    std::string share = other ? csv_number(share_of(result, *other).median) : "";
    const std::string column = ascii_lower(name);
    cells.emplace_back(fmt::format("{}_seconds", column), seconds);
    cells.emplace_back(fmt::format("share_of_{}", column), share);
  }
  return cells;
}

void kernel_json(Json& json, const KernelResult& result, const LimitSample& best) {
  KernelFigures f = kernel_figures(result, best);
  json.object().key("type").text(result.shape.type.name);
  json.key("roles").text(result.shape.roles);
  json.key("rows").number(result.shape.rows).key("k").number(result.shape.k);
  json.key("measured_rows").number(result.rows).key("m").number(result.m);
  json.key("copies").number(result.copies).key("bytes").number(result.bytes);
  json.key("operations").real(result.operations());
  add_times(json, result.seconds);
  json.key("gb_per_second").real(f.bytes_per_second * 1e-9).key("read_share").real(f.read_share);
  json.key("gops")
      .real(f.ops_per_second * 1e-9)
      .key("unit")
      .text(arithmetic_unit_name(result.unit));
  json.key("peak_share").real(f.peak_share);
  json.key("bound").text(f.bound_by_reading ? "reading" : "arithmetic");
  json.key("against").array();
  for (const ContenderResult& other : result.others) {
    if (!other.seconds.empty()) add_other(json, result, other);
  }
  json.end_array().end_object();
}

}  // namespace hearth
