#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "accelerator/vulkan/dispatch.h"
#include "base/error.h"
#include "base/round_up.h"

namespace hearth {
namespace {

constexpr uint64_t kMaxElements = uint64_t{1} << 26;  // the most of a dispatch

// How many elements of a row one workgroup takes: local_size_x of the shader times the elements of
// an invocation. (kHeadsOfGroup counts heads.)
constexpr uint32_t kElementwiseGroup = 256;
constexpr uint32_t kRopeGroup = 64;
constexpr uint32_t kQuantizeGroup = 64;
constexpr uint32_t kHeadsOfGroup = 4;

// The part of a call that one dispatch computes.
struct Part {
  uint32_t row = 0, rows = 0;
  uint32_t column = 0, columns = 0;
};

// Returns parts that together have `rows` rows of `n` elements. The columns of each part are a
// multiple of `group`, except in the last one of a row. The parts are so small that no index
// exceeds kMaxIndex: `stride` is the widest stride of the matrices, and an index within a row is
// below `reach`.
std::vector<Part> parts_of(uint32_t rows, uint64_t n, uint32_t group, uint64_t stride,
                           uint64_t reach) {
  if (reach > kMaxIndex) {
    fail(ErrorCode::kUnsupported, "rows of {} elements are longer than shaders can index", reach);
  }
  std::vector<Part> parts;
  if (rows == 0 || n == 0) return parts;
  const uint64_t columns = std::min({n, kMaxGroups * group, kMaxElements});
  uint64_t height = std::min<uint64_t>(kMaxGroups, std::max<uint64_t>(kMaxElements / columns, 1));
  if (stride > 0) height = std::min(height, (kMaxIndex - reach) / stride + 1);
  for (uint64_t row = 0; row < rows; row += height) {
    for (uint64_t column = 0; column < n; column += columns) {
      parts.push_back(
          {static_cast<uint32_t>(row), static_cast<uint32_t>(std::min(height, rows - row)),
           static_cast<uint32_t>(column), static_cast<uint32_t>(std::min(columns, n - column))});
    }
  }
  return parts;
}

// Returns the stride in 32 bits. A stride needs more bits only where each part has one row, and
// then the shader does not use it.
uint32_t narrow(uint64_t stride) { return static_cast<uint32_t>(stride); }

uint64_t address_of(const AddressOf& address, const FloatRows& matrix, const Part& part) {
  if (!matrix) return 0;
  return address(matrix.at) + sizeof(float) * (part.row * matrix.stride + part.column);
}

uint64_t address_of(const AddressOf& address, const Place& vector, const Part& part) {
  return vector ? address(vector) + sizeof(float) * part.column : 0;
}

uint64_t first_of(const PlacedRows& placed, const AddressOf& address) {
  return placed ? address(placed.first) + sizeof(uint32_t) * placed.expert0 : 0;
}

uint32_t bits_of(bool flag) { return flag ? 1 : 0; }

std::array<uint32_t, 3> groups_of(const Part& part, uint32_t group) {
  return {(part.columns + group - 1) / group, part.rows, 1};
}

// Throws where a norm's row does not fit one part.
void need_one_part(uint64_t n) {
  if (n <= kMaxElements) return;
  fail(ErrorCode::kUnsupported,
       "a norm of {} elements is longer than shaders support: run the model on the cores", n);
}

}  // namespace

// Uses shaders/norm.comp, in which a workgroup takes a whole row.
std::vector<Dispatch> dispatches_of(const NormCall& call, const AddressOf& address) {
  struct Push {
    uint64_t x, weight, bias, result;
    uint32_t x_stride, result_stride, n;
    float count, eps;
    uint32_t zero = 0;
  };
  need_one_part(call.n);
  std::vector<Dispatch> dispatches;
  const uint64_t stride = std::max(call.x.stride, call.out.stride);
  for (const Part& part : parts_of(call.rows, call.n, call.n, stride, call.n)) {
    Dispatch& d = dispatches.emplace_back(Dispatch{.shader = "norm"});
    d.constants = {bits_of(call.kind == NormCallKind::kLayer), bits_of(bool{call.weight}),
                   bits_of(bool{call.bias})};
    d.set_push(Push{.x = address_of(address, call.x, part),
                    .weight = address_of(address, call.weight, part),
                    .bias = address_of(address, call.bias, part),
                    .result = address_of(address, call.out, part),
                    .x_stride = narrow(call.x.stride),
                    .result_stride = narrow(call.out.stride),
                    .n = call.n,
                    .count = static_cast<float>(call.n),
                    .eps = call.eps});
    d.groups = {part.rows, 1, 1};
  }
  return dispatches;
}

// Uses shaders/head_moments.comp, in which a workgroup takes some heads of a row.
std::vector<Dispatch> dispatches_of(const HeadMomentsCall& call, const AddressOf& address) {
  struct Push {
    uint64_t x, result;
    uint32_t x_stride, result_stride, heads, head_floats;
    float count;
    uint32_t zero = 0;
  };
  const uint64_t all = uint64_t{call.heads} * call.length;
  need_one_part(all);
  const uint32_t group = kHeadsOfGroup * call.length;
  const uint64_t stride = std::max(call.x.stride, call.out.stride);
  std::vector<Dispatch> dispatches;
  for (const Part& part : parts_of(call.rows, all, group, stride, 2 * all)) {
    Dispatch& d = dispatches.emplace_back(Dispatch{.shader = "head_moments"});
    const uint32_t first = part.column / call.length;
    const Part moments = {.row = part.row, .rows = part.rows, .column = 2 * first};
    d.constants = {bits_of(call.centred)};
    d.set_push(Push{.x = address_of(address, call.x, part),
                    .result = address_of(address, call.out, moments),
                    .x_stride = narrow(call.x.stride),
                    .result_stride = narrow(call.out.stride),
                    .heads = part.columns / call.length,
                    .head_floats = call.length,
                    .count = static_cast<float>(call.length)});
    d.groups = groups_of(part, group);
  }
  return dispatches;
}

// Uses shaders/norm_by.comp, in which a workgroup takes a row.
std::vector<Dispatch> dispatches_of(const NormByCall& call, const AddressOf& address) {
  struct Push {
    uint64_t x, moments, weight, bias, result;
    uint32_t x_stride, moments_stride, result_stride, n, heads;
    float head_floats, head_count, count, eps;
    uint32_t zero = 0;
  };
  const uint64_t all = uint64_t{call.heads} * call.length;
  need_one_part(all);
  const uint64_t stride = std::max({call.x.stride, call.moments.stride, call.out.stride});
  std::vector<Dispatch> dispatches;
  for (const Part& part : parts_of(call.rows, call.n, call.n, stride, 2 * all)) {
    Dispatch& d = dispatches.emplace_back(Dispatch{.shader = "norm_by"});
    d.constants = {bits_of(bool{call.bias})};
    d.set_push(Push{.x = address_of(address, call.x, part),
                    .moments = address_of(address, call.moments, part),
                    .weight = address_of(address, call.weight, part),
                    .bias = address_of(address, call.bias, part),
                    .result = address_of(address, call.out, part),
                    .x_stride = narrow(call.x.stride),
                    .moments_stride = narrow(call.moments.stride),
                    .result_stride = narrow(call.out.stride),
                    .n = call.n,
                    .heads = call.heads,
                    .head_floats = static_cast<float>(call.length),
                    .head_count = static_cast<float>(call.heads),
                    .count = static_cast<float>(all),
                    .eps = call.eps});
    d.groups = {part.rows, 1, 1};
  }
  return dispatches;
}

namespace {

struct QuantizePush {
  uint64_t x, result, scale, bias32, sum32, bias16, sum16;
  uint64_t first = 0;
  uint32_t x_stride, row_stride, n, padded;
  uint32_t zero = 0;
  uint32_t experts = 0, row0 = 0;
};

// Returns the addresses of a part that begins with a whole block. It lets act_buffer() lay the
// arrays out over a made-up address, which is never read, and takes the distances.
QuantizePush arrays_of(const ActRows& rows, uint64_t at, const Part& part) {
  constexpr uintptr_t kStand = 64;
  const ActBuffer laid =
      act_buffer(rows.format, reinterpret_cast<std::byte*>(kStand), rows.rows, rows.k);
  const uint64_t element = part.row * uint64_t{laid.row_stride} + part.column;
  auto address = [&](const auto* array, uint64_t index) {
    if (array == nullptr) return uint64_t{0};
    return at + (reinterpret_cast<uintptr_t>(array) - kStand) + index * sizeof(*array);
  };
  return {.x = 0,
          .result = address(laid.f32, element) + address(laid.bf16, element) +
                    address(laid.codes, element),
          .scale = address(laid.scale, element / 32),
          .bias32 = address(laid.bias32, element / 32),
          .sum32 = address(laid.sum32, element / 32),
          .bias16 = address(laid.bias16, element / 16),
          .sum16 = address(laid.sum16, element / 16),
          .x_stride = 0,
          .row_stride = static_cast<uint32_t>(laid.row_stride),
          .n = part.columns,
          .padded = static_cast<uint32_t>(round_up(part.columns, 32))};
}

}  // namespace

// Uses shaders/quantize.comp, in which an invocation makes a word.
std::vector<Dispatch> dispatches_of(const QuantizeCall& call, const AddressOf& address) {
  const uint32_t word = call.out.format == ActFormat::kF32    ? 1
                        : call.out.format == ActFormat::kBF16 ? 2
                                                              : 4;
  const uint32_t group = word * kQuantizeGroup;
  // A group's elements are whole blocks, so the padding of a row needs no further group.
  const uint64_t reach = uint64_t{call.n} + 2 * group;
  const uint64_t stride = std::max(call.x.stride, reach);
  std::vector<Dispatch> dispatches;
  for (const Part& part : parts_of(call.rows, call.n, group, stride, reach)) {
    Dispatch& d = dispatches.emplace_back(Dispatch{.shader = "quantize"});
    d.constants = {static_cast<uint32_t>(call.out.format), bits_of(bool{call.placed})};
    QuantizePush push = arrays_of(call.out, address(call.out.at), part);
    push.x = address_of(address, call.x, part);
    push.x_stride = narrow(call.x.stride);
    push.first = first_of(call.placed, address);
    push.experts = call.placed.experts;
    push.row0 = part.row;
    d.set_push(push);
    d.groups = groups_of(part, group);
  }
  return dispatches;
}

// Uses shaders/add.comp, in which an invocation takes an element.
std::vector<Dispatch> dispatches_of(const AddCall& call, const AddressOf& address) {
  struct Push {
    uint64_t a, b, c, result;
    uint32_t a_stride, b_stride, c_stride, result_stride, n;
  };
  std::vector<Dispatch> dispatches;
  const uint64_t stride = std::max({call.a.stride, call.b.stride, call.c.stride, call.out.stride});
  for (const Part& part : parts_of(call.rows, call.n, kElementwiseGroup, stride, call.n)) {
    Dispatch& d = dispatches.emplace_back(Dispatch{.shader = "add"});
    d.constants = {bits_of(bool{call.c})};
    d.set_push(Push{.a = address_of(address, call.a, part),
                    .b = address_of(address, call.b, part),
                    .c = address_of(address, call.c, part),
                    .result = address_of(address, call.out, part),
                    .a_stride = narrow(call.a.stride),
                    .b_stride = narrow(call.b.stride),
                    .c_stride = narrow(call.c.stride),
                    .result_stride = narrow(call.out.stride),
                    .n = part.columns});
    d.groups = groups_of(part, kElementwiseGroup);
  }
  return dispatches;
}

// Uses shaders/gate.comp, in which an invocation takes an element.
std::vector<Dispatch> dispatches_of(const GateCall& call, const AddressOf& address) {
  struct Push {
    uint64_t x, bias, up, result, first;
    uint32_t x_stride, up_stride, result_stride, n;
    uint32_t zero = 0;
    uint32_t experts, row0;
  };
  std::vector<Dispatch> dispatches;
  const uint64_t stride = std::max({call.x.stride, call.up.stride, call.out.stride});
  for (const Part& part : parts_of(call.rows, call.n, kElementwiseGroup, stride, call.n)) {
    Dispatch& d = dispatches.emplace_back(Dispatch{.shader = "gate"});
    d.constants = {static_cast<uint32_t>(call.kind), bits_of(bool{call.bias}),
                   bits_of(bool{call.up}), bits_of(bool{call.placed})};
    d.set_push(Push{.x = address_of(address, call.x, part),
                    .bias = address_of(address, call.bias, part),
                    .up = address_of(address, call.up, part),
                    .result = address_of(address, call.out, part),
                    .first = first_of(call.placed, address),
                    .x_stride = narrow(call.x.stride),
                    .up_stride = narrow(call.up.stride),
                    .result_stride = narrow(call.out.stride),
                    .n = part.columns,
                    .experts = call.placed.experts,
                    .row0 = part.row});
    d.groups = groups_of(part, kElementwiseGroup);
  }
  return dispatches;
}

// Uses shaders/rope.comp, in which an invocation rotates a pair. A row's columns are the pairs of
// all its heads.
std::vector<Dispatch> dispatches_of(const RopeCall& call, const AddressOf& address) {
  struct Push {
    uint64_t x, cosines, sines;
    uint32_t x_stride, head_stride, pairs, first, last;
    uint32_t zero = 0;
  };
  const uint32_t pairs = call.n_rot / 2;
  const uint64_t reach = uint64_t{call.heads} * call.head_stride + call.n_rot;
  const uint64_t stride = std::max<uint64_t>(call.x.stride, pairs);
  const uint64_t all = uint64_t{call.heads} * pairs;
  std::vector<Dispatch> dispatches;
  for (const Part& part : parts_of(call.rows, all, kRopeGroup, stride, reach)) {
    Dispatch& d = dispatches.emplace_back(Dispatch{.shader = "rope"});
    const Part rows = {.row = part.row, .rows = part.rows};  // the same rows, from element 0 on
    const uint64_t angles = uint64_t{part.row} * pairs * sizeof(float);
    d.constants = {bits_of(call.layout == RopeLayout::kInterleaved)};
    d.set_push(Push{.x = address_of(address, call.x, rows),
                    .cosines = address(call.cos) + angles,
                    .sines = address(call.sin) + angles,
                    .x_stride = narrow(call.x.stride),
                    .head_stride = call.head_stride,
                    .pairs = pairs,
                    .first = part.column,
                    .last = part.column + part.columns});
    d.groups = groups_of(part, kRopeGroup);
  }
  return dispatches;
}

}  // namespace hearth
