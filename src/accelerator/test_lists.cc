#include "accelerator/test_lists.h"

#include <cmath>
#include <cstring>
#include <random>
#include <span>

#include "accelerator/virtual/virtual_accelerator.h"
#include "base/fp_types.h"
#include "base/round_up.h"

namespace hearth {
namespace {

constexpr BufferId kInputs = 0, kScratch = 1;
constexpr uint64_t kAlign = 64;

class ListMaker {
 public:
  explicit ListMaker(uint32_t queues) {
    test_.around.queues = queues;
    test_.buffers = {0, 0};
  }

  Place scratch(uint64_t bytes) { return take(kScratch, bytes); }
  Place input(std::span<const std::byte> bytes) {
    const Place at = take(kInputs, bytes.size());
    test_.inputs.push_back({at, {bytes.begin(), bytes.end()}});
    test_.around.filled.push_back({.at = at, .bytes = bytes.size()});
    return at;
  }
  Place floats(uint64_t count, float scale = 1) {
    std::vector<float> values(count);
    for (float& x : values) x = scale * std::normal_distribution<float>()(random_);
    return input(std::as_bytes(std::span(values)));
  }
  Place codes(uint64_t count) {
    std::vector<std::byte> values(count);
    for (std::byte& x : values) x = static_cast<std::byte>(random_());
    return input(values);
  }
  Place scales(uint64_t count) {
    std::vector<f16_t> values(count);
    for (f16_t& x : values) x = f32_to_f16(1e-3f * static_cast<float>(1 + random_() % 4));
    return input(std::as_bytes(std::span(values)));
  }
  ActRows activations(uint32_t rows, uint32_t k) {
    return {scratch(act_bytes(ActFormat::kQ8, rows, k)), ActFormat::kQ8, rows, k};
  }
  // Returns a product of `a` with a new matrix [n, a.k].
  GemmCall gemm(const ActRows& a, uint32_t n, const FloatRows& out) {
    GemmCall call = {.spec = {PackKind::kQ8_0, n, a.k, 0}};
    call.codes = codes(call.spec.codes_bytes());
    call.scales = scales(call.spec.scales_bytes() / sizeof(f16_t));
    call.panels = call.spec.panels();
    call.block1 = call.spec.blocks();
    call.a = a;
    call.m = a.rows;
    call.out = out;
    return call;
  }
  Command& add(KernelCall call, bool ordered = true) {
    test_.list.commands.push_back({.ordered = ordered, .work = std::move(call)});
    return test_.list.commands.back();
  }
  Command& copy(const Place& from, const Place& to, uint64_t bytes) {
    test_.list.commands.push_back({.work = CopyBytes{from, to, bytes}});
    return test_.list.commands.back();
  }
  TestList finish(uint32_t timelines, const Moment& end, const Access& results) {
    test_.timelines = timelines;
    test_.end = end;
    test_.results = results;
    return std::move(test_);
  }

 private:
  Place take(BufferId buffer, uint64_t bytes) {
    const Place at = {buffer, round_up(test_.buffers[buffer], kAlign)};
    test_.buffers[buffer] = at.offset + bytes;
    return at;
  }

  TestList test_;
  std::mt19937 random_{5};
};

// The places of the values in layers. All layers use the same places.
struct LayerRows {
  static constexpr uint32_t kRows = 3, kWidth = 64, kHeads = 4, kKvHeads = 2, kHead = 16;
  static constexpr uint32_t kInner = 96;

  explicit LayerRows(ListMaker& maker) : x(rows(maker, kWidth)), h(rows(maker, kWidth)) {
    q = rows(maker, kHeads * kHead);
    k = rows(maker, kKvHeads * kHead);
    v = rows(maker, kKvHeads * kHead);
    gate = rows(maker, kInner);
    up = rows(maker, kInner);
    a = maker.activations(kRows, kWidth);
    inner = maker.activations(kRows, kInner);
    cos = maker.floats(kRows * kHead / 2);
    sin = maker.floats(kRows * kHead / 2);
    std::vector<AttendRow> sees;
    for (uint32_t i = 0; i < kRows; ++i) sees.push_back({0, i, 0, i});
    rows_of = maker.input(std::as_bytes(std::span(sees)));
  }
  static FloatRows rows(ListMaker& maker, uint32_t n) {
    return {maker.scratch(uint64_t{kRows} * n * sizeof(float)), n};
  }

  FloatRows x, h, q, k, v, gate, up;
  ActRows a, inner;
  Place cos, sin, rows_of;
};

void add_norm(ListMaker& maker, const LayerRows& l) {
  maker.add(NormCall{.x = l.x,
                     .weight = maker.floats(LayerRows::kWidth),
                     .rows = LayerRows::kRows,
                     .n = LayerRows::kWidth,
                     .eps = 1e-5f,
                     .out = l.h});
}

void add_quantize(ListMaker& maker, const FloatRows& x, const ActRows& out) {
  maker.add(QuantizeCall{.x = x, .rows = out.rows, .n = out.k, .out = out});
}

void add_sum(ListMaker& maker, const LayerRows& l) {
  maker.add(
      AddCall{.a = l.x, .b = l.h, .rows = LayerRows::kRows, .n = LayerRows::kWidth, .out = l.x});
}

void add_rope(ListMaker& maker, const LayerRows& l, const FloatRows& x, uint32_t heads,
              bool ordered) {
  maker.add(RopeCall{.x = x,
                     .rows = LayerRows::kRows,
                     .heads = heads,
                     .head_stride = LayerRows::kHead,
                     .cos = l.cos,
                     .sin = l.sin,
                     .n_rot = LayerRows::kHead},
            ordered);
}

void add_layer(ListMaker& maker, const LayerRows& l) {
  add_norm(maker, l);
  add_quantize(maker, l.h, l.a);
  maker.add(maker.gemm(l.a, LayerRows::kHeads * LayerRows::kHead, l.q));
  maker.add(maker.gemm(l.a, LayerRows::kKvHeads * LayerRows::kHead, l.k), false);
  maker.add(maker.gemm(l.a, LayerRows::kKvHeads * LayerRows::kHead, l.v), false);
  add_rope(maker, l, l.q, LayerRows::kHeads, true);
  add_rope(maker, l, l.k, LayerRows::kKvHeads, false);
  maker.add(AttendCall{.q = l.q,
                       .k = l.k,
                       .v = l.v,
                       .rows_of = l.rows_of,
                       .rows = LayerRows::kRows,
                       .step_rows = LayerRows::kRows,
                       .heads = LayerRows::kHeads,
                       .group = LayerRows::kHeads / LayerRows::kKvHeads,
                       .key_length = LayerRows::kHead,
                       .value_length = LayerRows::kHead,
                       .scale = 0.25f,
                       .out = l.h});
  add_quantize(maker, l.h, l.a);
  maker.add(maker.gemm(l.a, LayerRows::kWidth, l.h));
  add_sum(maker, l);
  add_norm(maker, l);
  add_quantize(maker, l.h, l.a);
  maker.add(maker.gemm(l.a, LayerRows::kInner, l.gate));
  maker.add(maker.gemm(l.a, LayerRows::kInner, l.up), false);
  maker.add(GateCall{
      .x = l.gate, .up = l.up, .rows = LayerRows::kRows, .n = LayerRows::kInner, .out = l.gate});
  add_quantize(maker, l.gate, l.inner);
  maker.add(maker.gemm(l.inner, LayerRows::kWidth, l.h));
  add_sum(maker, l);
}

}  // namespace

TestList ring_list(uint32_t queues, uint32_t steps) {
  constexpr uint32_t kRows = 2, kN = 16;
  constexpr TimelineId kLoaded = 0, kFreed = 1;
  ListMaker maker(queues);
  const ActRows a = maker.activations(kRows, 64);
  const FloatRows x = {maker.floats(kRows * 64), 64};
  GemmCall product = maker.gemm(a, kN, {});
  const uint64_t bytes = product.spec.codes_bytes();
  const Place matrices = maker.codes(bytes * steps);
  const Place slots = maker.scratch(bytes * 2);
  const Place out = maker.scratch(uint64_t{steps} * kRows * kN * sizeof(float));
  maker.add(QuantizeCall{.x = x, .rows = kRows, .n = 64, .out = a});
  auto copy = [&](uint64_t step) {
    Command& command = maker.copy(matrices + step * bytes, slots + step % 2 * bytes, bytes);
    command.queue = queues - 1;
    if (step >= 2) command.waits = {{kFreed, step - 1}};
    command.signals = {{kLoaded, step + 1}};
  };
  for (uint64_t step = 0; step < 2; ++step) copy(step);
  for (uint64_t step = 0; step < steps; ++step) {
    product.codes = slots + step % 2 * bytes;
    product.out = {out + step * kRows * kN * sizeof(float), kN};
    Command& command = maker.add(product);
    command.waits = {{kLoaded, step + 1}};
    command.signals = {{kFreed, step + 1}};
    if (step + 2 < steps) copy(step + 2);
  }
  return maker.finish(2, {kFreed, steps},
                      {.at = out, .bytes = uint64_t{steps} * kRows * kN * sizeof(float)});
}

TestList layers_list(uint32_t layers) {
  ListMaker maker(1);
  const LayerRows l(maker);
  const uint64_t bytes = uint64_t{LayerRows::kRows} * LayerRows::kWidth * sizeof(float);
  maker.copy(maker.floats(bytes / sizeof(float)), l.x.at, bytes);
  for (uint32_t layer = 0; layer < layers; ++layer) add_layer(maker, l);
  maker.copy(l.x.at, maker.scratch(bytes), bytes).signals = {{0, 1}};
  return maker.finish(1, {0, 1}, {.at = l.x.at, .bytes = bytes});
}

std::vector<std::byte> run_list(const TestList& test, uint64_t seed) {
  VirtualAccelerator gpu({.seed = seed, .queues = test.around.queues});
  std::vector<Buffer> buffers;
  for (uint64_t bytes : test.buffers) buffers.push_back(gpu.allocate(bytes));
  for (const TestInput& input : test.inputs) gpu.write(input.at, input.bytes);
  for (uint32_t i = 0; i < test.timelines; ++i) gpu.make_timeline();
  gpu.submit(test.list);
  gpu.wait(test.end, 10);
  std::vector<std::byte> results(test.results.bytes);
  gpu.read(test.results.at, results);
  return results;
}

}  // namespace hearth
