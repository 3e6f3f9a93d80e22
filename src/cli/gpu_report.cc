#include "cli/gpu_report.h"

#include <fmt/format.h>

#include <optional>

#include "accelerator/find_accelerators.h"
#include "base/bytes_text.h"
#include "bench/figure_text.h"

namespace hearth {
namespace {

std::string memory_text(const AcceleratorFacts& facts) {
  std::string text = bytes_text(facts.memory_bytes);
  if (facts.free_bytes != 0) text += fmt::format(", {} free", bytes_text(facts.free_bytes));
  return text;
}

std::string queues_text(const AcceleratorFacts& facts) {
  size_t copies = 0;
  for (const QueueFacts& queue : facts.queues) copies += queue.computes ? 0 : 1;
  return fmt::format("{} that compute, {} for copies alone", facts.queues.size() - copies, copies);
}

std::string line_text(const std::string& what, const std::string& figure, const Spread& spread,
                      const std::string& how) {
  return fmt::format("  {:<20}{:>16}  {:>8}  {}\n", what, figure, percent_text(spread.relative()),
                     how);
}

std::string transfer_text(const char* what, const TransferRate& rate, const char* how) {
  return line_text(what, giga_text(rate.per_second.median) + " GB/s", rate.per_second,
                   fmt::format("{}, {} each", how, bytes_text(rate.bytes)));
}

std::string product_text(const ProductRate& product) {
  const std::string what = fmt::format("{}, {} row{}", pack_kind_info(product.kind).name,
                                       product.rows, product.rows == 1 ? "" : "s");
  if (!product.refused.empty()) return fmt::format("  {:<20}{}\n", what, product.refused);
  return line_text(what, giga_text(product.per_second.median) + " G/s", product.per_second,
                   fmt::format("multiply-adds, {} x {}", product.side, product.side));
}

std::string kernel_text(const KernelRate& kernel) {
  if (!kernel.refused.empty()) return fmt::format("  {:<20}{}\n", kernel.contract, kernel.refused);
  const bool attends = kernel.contract.starts_with("attend");
  return line_text(kernel.contract, giga_text(kernel.per_second.median) + " G/s", kernel.per_second,
                   fmt::format("{}, {} rows of {}", attends ? "multiply-adds" : "elements",
                               kernel.rows, kernel.length));
}

}  // namespace

std::string facts_text(const AcceleratorFacts& facts, const std::string& refused) {
  std::string text = fmt::format("{}\n", facts.name);
  auto line = [&](const char* what, const std::string& value) {
    if (!value.empty()) text += fmt::format("  {:<12}{}\n", what, value);
  };
  line("kind", accelerator_kind_name(facts.kind));
  line("driver", fmt::format("{}, {}", facts.driver, facts.api));
  line("memory", memory_text(facts));
  if (!facts.queues.empty()) line("queues", queues_text(facts));
  line("arithmetic", facts.arithmetic);
  for (const Lack& lack : facts.lacks) line("lacks", fmt::format("{}: {}", lack.what, lack.cost));
  line("cannot", refused);
  return text;
}

std::string rates_text(const AcceleratorRates& rates) {
  std::string text = fmt::format("  {:<20}{:>16}  {:>8}\n", "", "median", "spread");
  text += transfer_text("write", rates.write, "by the host");
  text += transfer_text("read", rates.read, "by the host");
  if (rates.import_to && rates.import_from) {
    const char* how = "by its own copies of the process's memory";
    text += transfer_text("copy in", *rates.import_to, how);
    text += transfer_text("copy out", *rates.import_from, how);
  } else {
    text += fmt::format("  {:<20}{}\n", "copy in, out", rates.import_refused);
  }
  text += transfer_text("memory", rates.memory, "read and written by copies");
  const Spread& submission = rates.submission_nanoseconds;
  text += line_text("submission", fmt::format("{:.1f} us", 1e-3 * submission.median), submission,
                    "begun, ended and waited for, of next to nothing");
  if (rates.command_nanoseconds) {
    const Spread& command = *rates.command_nanoseconds;
    text += line_text("command", fmt::format("{:.2f} us", 1e-3 * command.median), command,
                      "of next to nothing, behind others");
  }
  for (const ProductRate& product : rates.products) text += product_text(product);
  for (const KernelRate& kernel : rates.kernels) text += kernel_text(kernel);
  return text;
}

}  // namespace hearth
