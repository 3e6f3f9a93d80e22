#include "bench/embed_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "bench/figure_text.h"
#include "bench/table.h"

namespace hearth {
namespace {

std::string whole(uint64_t count) { return fmt::format("{}", count); }

double share(uint64_t part, uint64_t all) {
  return all > 0 ? static_cast<double>(part) / static_cast<double>(all) : 0;
}

std::string_view admission_name(Admission admission) {
  return admission == Admission::kDepth ? "depth" : "deadline";
}

std::string seconds_text(double seconds) { return fmt::format("{:.4g} s", seconds); }

Cells device_cells(const EmbedCase& one, const EmbedConcurrency& device) {
  return {{"length", whole(one.length)},
          {"objective", seconds_text(one.slo)},
          {"device", device.device},
          {"kind", std::string(device_kind_name(device.kind))},
          {"alpha", duration_figure(device.line.alpha)},
          {"beta", duration_figure(device.line.beta)},
          {"estimated", whole(device.estimated)},
          {"alone", whole(device.alone)},
          {"together", whole(device.together)},
          {"kept", device.alone > 0 ? percent_text(share(device.together, device.alone)) : "-"}};
}

// Returns the devices' concurrencies as a sum, such as "44 + 8". Accelerators come first.
std::string sum_text(const EmbedCase& one) {
  std::string out;
  for (DeviceKind kind : {DeviceKind::kAccelerator, DeviceKind::kCpu}) {
    for (const EmbedConcurrency& device : one.devices) {
      if (device.kind != kind) continue;
      out += fmt::format("{}{}", out.empty() ? "" : " + ", device.together);
    }
  }
  return out;
}

Cells case_cells(const EmbedCase& one) {
  uint64_t before = one.accelerators();
  return {{"length", whole(one.length)},
          {"objective", seconds_text(one.slo)},
          {"at once", sum_text(one)},
          {"together", whole(one.together())},
          {"sum alone", whole(one.alone())},
          {"of sum", percent_text(share(one.together(), one.alone()))},
          {"over accelerators",
           before > 0 ? fmt::format("{:+.1f} %", 100 * (share(one.together(), before) - 1)) : "-"}};
}

Cells arrival_cells(const EmbedArrivals& load) {
  double seconds = std::max(load.seconds, 1e-9);
  return {{"length", whole(load.length)},
          {"objective", seconds_text(load.slo)},
          {"admission", std::string(admission_name(load.admission))},
          {"texts/s", rate_text(load.rate)},
          {"offered", whole(load.offered)},
          {"accepted", percent_text(share(load.accepted, load.offered))},
          {"accepted/s", rate_text(static_cast<double>(load.accepted) / seconds)},
          {"in time", percent_text(share(load.in_time, load.accepted))},
          {"50 %", duration_figure(load.latency.p50)},
          {"99 %", duration_figure(load.latency.p99)}};
}

std::string head(const EmbedReport& report) {
  std::string out =
      fmt::format("{}; {} repetitions\n", fmt::join(report.devices, ", "), report.repetitions);
  std::string stolen = report.shares
                           ? fmt::format("CPU time stolen {}", percent_text(report.shares->stolen))
                           : "CPU time stolen: unknown";
  out += fmt::format("{}; {}\n", cpu_text(report.cpu), stolen);
  if (!report.model.empty()) out += fmt::format("model: {}\n", report.model);
  return out;
}

std::string microseconds(double seconds) { return fmt::format("{:.1f} us", seconds * 1e6); }

std::string dispatch_line(const EmbedDispatch& dispatch) {
  return fmt::format(
      "\ndispatch: {} to offer a text, {} from its offer to the answer of a device that takes no "
      "time (medians of {}; 99 %: {}, {})\n",
      microseconds(dispatch.submit.p50), microseconds(dispatch.round_trip.p50), dispatch.texts,
      microseconds(dispatch.submit.p99), microseconds(dispatch.round_trip.p99));
}

Cells csv_head(const EmbedReport& report) {
  return {{"version", report.version},
          {"time", report.time},
          {"interrupted", report.interrupted ? "true" : "false"}};
}

Cells csv_cells(const EmbedCase& one, const EmbedConcurrency& device) {
  return {{"length", csv_number(uint64_t{one.length})},
          {"slo_seconds", csv_number(one.slo)},
          {"device", device.device},
          {"kind", std::string(device_kind_name(device.kind))},
          {"alpha_seconds", csv_number(device.line.alpha)},
          {"beta_seconds", csv_number(device.line.beta)},
          {"estimated", csv_number(device.estimated)},
          {"alone", csv_number(device.alone)},
          {"together", csv_number(device.together)}};
}

void json_case(Json& json, const EmbedCase& one) {
  json.object().key("length").number(uint64_t{one.length}).key("slo_seconds").real(one.slo);
  json.key("alone").number(one.alone()).key("together").number(one.together());
  json.key("accelerators_alone").number(one.accelerators());
  json.key("capacity").real(one.capacity()).key("devices").array();
  for (const EmbedConcurrency& device : one.devices) {
    json.object().key("name").text(device.device);
    json.key("kind").text(device_kind_name(device.kind));
    json.key("alpha_seconds").real(device.line.alpha).key("beta_seconds").real(device.line.beta);
    json.key("estimated").number(device.estimated).key("alone").number(device.alone);
    json.key("together").number(device.together).end_object();
  }
  json.end_array().end_object();
}

void json_arrivals(Json& json, const EmbedArrivals& load) {
  json.object().key("length").number(uint64_t{load.length}).key("slo_seconds").real(load.slo);
  json.key("admission").text(admission_name(load.admission)).key("rate").real(load.rate);
  json.key("offered").number(load.offered).key("accepted").number(load.accepted);
  json.key("answered").number(load.answered).key("in_time").number(load.in_time);
  json.key("seconds").real(load.seconds);
  add_percentiles(json, "latency_seconds", load.latency);
  json.key("devices").array();
  for (const DeviceStatistics& device : load.devices) {
    json.object().key("name").text(device.name).key("done").number(device.done);
    json.key("late").number(device.late).key("batches").number(device.batches);
    json.key("failures").number(device.failures).key("busy_seconds").real(device.busy_seconds);
    json.end_object();
  }
  json.end_array().end_object();
}

}  // namespace

std::string markdown(const EmbedReport& report) {
  Table devices, cases, arrivals;
  for (const EmbedCase& one : report.cases) {
    for (const EmbedConcurrency& device : one.devices) devices.add(device_cells(one, device));
    cases.add(case_cells(one));
  }
  for (const EmbedArrivals& load : report.arrivals) arrivals.add(arrival_cells(load));
  std::string out = head(report);
  for (const Table* table : {&devices, &cases, &arrivals}) {
    std::string text = table->markdown();
    if (!text.empty()) out += "\n" + text;
  }
  if (report.dispatch) out += dispatch_line(*report.dispatch);
  if (!report.notes.empty() || report.interrupted) out += "\n";
  for (const std::string& note : report.notes) out += "note: " + note + "\n";
  if (report.interrupted) out += "note: interrupted; unfinished measurements are left out\n";
  return out;
}

std::string csv(const EmbedReport& report) {
  Table table;
  for (const EmbedCase& one : report.cases) {
    for (const EmbedConcurrency& device : one.devices) {
      Cells row = csv_head(report);
      append(&row, csv_cells(one, device));
      table.add(row);
    }
  }
  return table.csv();
}

std::string json(const EmbedReport& report) {
  Json json;
  json.object().key("schema").text("hearth-bench-embed-1").key("version").text(report.version);
  json.key("time").text(report.time).key("cpu").text(report.cpu).key("model").text(report.model);
  auto stolen = report.shares ? std::optional(report.shares->stolen) : std::nullopt;
  json.key("steal_share").real(stolen).key("interrupted").boolean(report.interrupted);
  json.key("repetitions").number(uint64_t{report.repetitions}).key("devices").array();
  for (const std::string& device : report.devices) json.text(device);
  json.end_array().key("cases").array();
  for (const EmbedCase& one : report.cases) json_case(json, one);
  json.end_array().key("arrivals").array();
  for (const EmbedArrivals& load : report.arrivals) json_arrivals(json, load);
  json.end_array().key("dispatch");
  if (report.dispatch) {
    json.object().key("texts").number(report.dispatch->texts);
    add_percentiles(json, "submit_seconds", report.dispatch->submit);
    add_percentiles(json, "round_trip_seconds", report.dispatch->round_trip);
    json.end_object();
  } else {
    json.null();
  }
  json.key("notes").array();
  for (const std::string& note : report.notes) json.text(note);
  json.end_array().end_object();
  return json.line();
}

}  // namespace hearth
