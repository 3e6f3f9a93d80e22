#include "accelerator/call_time.h"

#include <algorithm>
#include <cstdint>
#include <variant>

namespace hearth {
namespace {

double by_rows(uint32_t rows, uint64_t n) {
  return static_cast<double>(rows) * static_cast<double>(n);
}

uint32_t likely(const PlacedRows& placed, uint32_t rows) {
  return placed ? std::min(rows, placed.experts * placed.likely_rows) : rows;
}

struct Likely {
  void operator()(QuantizeCall& call) const { call.rows = likely(call.placed, call.rows); }
  void operator()(GateCall& call) const { call.rows = likely(call.placed, call.rows); }
  void operator()(ExpertAddCall& call) const {
    call.room = std::min(call.room, call.experts * call.likely_rows);
    // A row that chose none of these experts keeps its sum, so its sum costs nothing. A call that
    // begins the sums writes the sums of all rows.
    if (!call.begins) call.rows = std::min(call.rows, call.room);
  }
  void operator()(ExpertGemmCall& call) const {
    call.room = std::min(call.room, call.experts * call.likely_rows);
  }
  template <typename Other>
  void operator()(Other&) const {}
};

// Returns the call with the likely number of rows in place of the room for rows.
KernelCall likely_call(KernelCall call) {
  std::visit(Likely{}, call);
  return call;
}

// Returns the work of a likely_call().
struct Work {
  double operator()(const NormCall& call) const { return by_rows(call.rows, call.n); }
  double operator()(const HeadMomentsCall& call) const {
    return by_rows(call.rows, uint64_t{call.heads} * call.length);
  }
  double operator()(const NormByCall& call) const { return by_rows(call.rows, call.n); }
  double operator()(const TableCall& call) const { return by_rows(call.rows, call.spec.k); }
  double operator()(const QuantizeCall& call) const { return by_rows(call.rows, call.n); }
  double operator()(const GemmCall& call) const {
    return by_rows(call.m, uint64_t{call.panels} * kPanelRows) * kBlock *
           (call.block1 - call.block0);
  }
  double operator()(const AddCall& call) const { return by_rows(call.rows, call.n); }
  double operator()(const GateCall& call) const { return by_rows(call.rows, call.n); }
  double operator()(const RopeCall& call) const {
    return by_rows(call.rows, uint64_t{call.heads} * call.n_rot);
  }
  // Counts each row as if it saw all step_rows. The positions that rows really see lie in the
  // accelerator's memory.
  double operator()(const AttendCall& call) const {
    return by_rows(call.rows, call.step_rows) * call.heads * (call.key_length + call.value_length);
  }
  double operator()(const KvStoreCall& call) const {
    const KvPages& pages = call.pages;
    return by_rows(call.rows, uint64_t{pages.heads} * (pages.key_length + pages.value_length));
  }
  double operator()(const PagedAttendCall& call) const {
    return static_cast<double>(call.seen) * call.heads *
           (call.pages.key_length + call.pages.value_length);
  }
  double operator()(const LatentStoreCall& call) const {
    return by_rows(call.rows, uint64_t{call.pages.copies} * call.pages.length);
  }
  double operator()(const LatentAttendCall& call) const {
    return static_cast<double>(call.seen) * call.heads * (call.pages.length + call.kv_lora_rank);
  }
  double operator()(const LatentExpandCall& call) const {
    return by_rows(call.positions, uint64_t{call.to.heads} * call.kv_lora_rank) *
           (call.nope_length() + call.to.value_length);
  }
  double operator()(const RouteCall& call) const { return by_rows(call.rows, call.rule.experts); }
  double operator()(const GroupCall& call) const { return by_rows(call.rows, call.used); }
  double operator()(const ExpertGemmCall& call) const {
    return (*this)(call.product(0)) * call.experts;
  }
  double operator()(const ExpertAddCall& call) const { return by_rows(call.room, call.n); }
};

// Returns the length by which the contract's rates are interpolated; 0 where the contract has one
// rate for all lengths.
uint32_t length_of(const KernelCall& call) {
  if (const auto* paged = std::get_if<PagedAttendCall>(&call)) return paged->pages.key_length;
  return 0;
}

}  // namespace

double value_at(const RateLine& line, double x) {
  if (x <= line.front().first) return line.front().second;
  if (x >= line.back().first) return line.back().second;
  const auto next =
      std::ranges::upper_bound(line, x, {}, [](const auto& point) { return point.first; });
  const auto& [x0, y0] = *(next - 1);
  const auto& [x1, y1] = *next;
  return y0 + (y1 - y0) * (x - x0) / (x1 - x0);
}

double work_of(const KernelCall& call) { return std::visit(Work{}, likely_call(call)); }

CallTime::CallTime(const AcceleratorRates& rates) : memory_rate_(rates.memory.per_second.median) {
  if (rates.command_nanoseconds) command_seconds_ = rates.command_nanoseconds->median * 1e-9;
  for (const ProductRate& rate : rates.products) {
    if (!rate.refused.empty()) continue;
    products_[rate.kind].emplace_back(rate.rows, rate.rows / rate.per_second.median);
  }
  for (auto& [kind, line] : products_) std::ranges::sort(line);
  for (const KernelRate& rate : rates.kernels) {
    if (!rate.refused.empty()) continue;
    kernels_[rate.contract].emplace_back(rate.length, 1 / rate.per_second.median);
  }
  for (auto& [contract, line] : kernels_) std::ranges::sort(line);
}

double CallTime::product_seconds(const GemmCall& call) const {
  const double elements = work_of(KernelCall(call)) / call.m, rows = call.m;
  const auto of_line = [&](const RateLine& line) {
    const auto& [most, each] = line.back();
    return elements * (rows > most ? each * rows / most : value_at(line, rows));
  };
  const auto found = products_.find(call.spec.kind);
  if (found != products_.end()) return of_line(found->second);
  double alike = 0, any = 0;
  for (const auto& [kind, line] : products_) {
    const double seconds = of_line(line);
    any = std::max(any, seconds);
    if (act_format_for(kind) == act_format_for(call.spec.kind)) alike = std::max(alike, seconds);
  }
  return alike > 0 ? alike : any;
}

double CallTime::attention_seconds(const KernelCall& call) const {
  const auto f32 = products_.find(PackKind::kF32);
  if (f32 == products_.end()) return 0;
  const auto& [rows, seconds] = f32->second.back();
  return work_of(call) * seconds / rows;
}

double CallTime::seconds(const KernelCall& call) const {
  if (const auto* product = std::get_if<GemmCall>(&call)) {
    if (!products_.empty()) return product_seconds(*product);
  }
  if (const auto* of_experts = std::get_if<ExpertGemmCall>(&call)) {
    if (!products_.empty()) return product_seconds(of_experts->product(0)) * of_experts->experts;
  }
  const auto found = kernels_.find(contract_name(call));
  if (found != kernels_.end()) return work_of(call) * value_at(found->second, length_of(call));
  const bool by_products = std::holds_alternative<AttendCall>(call) ||
                           std::holds_alternative<PagedAttendCall>(call) ||
                           std::holds_alternative<LatentAttendCall>(call) ||
                           std::holds_alternative<LatentExpandCall>(call);
  double bytes = 0;
  for (const Access& access : accesses_of(likely_call(call))) {
    bytes += static_cast<double>(access.bytes) * access.rows;
  }
  const double moving = bytes / memory_rate_;
  return by_products ? std::max(moving, attention_seconds(call)) : moving;
}

}  // namespace hearth
