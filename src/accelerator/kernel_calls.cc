#include "accelerator/kernel_calls.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/enum_name.h"
#include "base/round_up.h"

namespace hearth {
namespace {

constexpr uint64_t kFloat = sizeof(float);

const char* format_name(ActFormat format) {
  return enum_name<ActFormat::kQ8>({"f32", "bf16", "q8"}, format);
}

struct Name {
  std::string operator()(const NormCall& call) const {
    return enum_name<NormCallKind::kLayer>({"rms norm", "layer norm"}, call.kind);
  }
  std::string operator()(const HeadMomentsCall&) const { return "moments of heads"; }
  std::string operator()(const NormByCall&) const { return "norm by moments"; }
  std::string operator()(const TableCall& call) const {
    return fmt::format("table {}", pack_kind_name(call.spec.kind));
  }
  std::string operator()(const QuantizeCall& call) const {
    return fmt::format("quantize {}", format_name(call.out.format));
  }
  std::string operator()(const GemmCall& call) const {
    return fmt::format("gemm {}", pack_kind_name(call.spec.kind));
  }
  std::string operator()(const AddCall& call) const { return call.c ? "add of three" : "add"; }
  std::string operator()(const GateCall& call) const {
    return enum_name<GateKind::kGeluTanh>({"silu", "gelu", "gelu tanh"}, call.kind);
  }
  std::string operator()(const RopeCall& call) const {
    return fmt::format("rope {}",
                       enum_name<RopeLayout::kHalf>({"interleaved", "half"}, call.layout));
  }
  std::string operator()(const AttendCall&) const { return "attention f32"; }
  std::string operator()(const KvStoreCall& call) const {
    return fmt::format("kv store {}", kv_type_name(call.pages.type));
  }
  std::string operator()(const PagedAttendCall& call) const {
    return fmt::format("attend pages {}", kv_type_name(call.pages.type));
  }
  std::string operator()(const LatentStoreCall& call) const {
    return fmt::format("latent store {}", kv_type_name(call.pages.type));
  }
  std::string operator()(const LatentAttendCall& call) const {
    return fmt::format("attend latents {}", kv_type_name(call.pages.type));
  }
  std::string operator()(const LatentExpandCall& call) const {
    return fmt::format("expand latents {}", kv_type_name(call.from.type));
  }
  std::string operator()(const RouteCall& call) const {
    return fmt::format(
        "route {}", enum_name<Gating::kSoftmaxOfChosen>({"softmax", "sigmoid", "softmax of chosen"},
                                                        call.rule.gating));
  }
  std::string operator()(const GroupCall&) const { return "group by expert"; }
  std::string operator()(const ExpertGemmCall& call) const {
    return fmt::format("experts' gemm {}", pack_kind_name(call.spec.kind));
  }
  std::string operator()(const ExpertAddCall&) const { return "experts' add"; }
};

// Collects a call's accesses. Leaves out accesses of no bytes, and those at optional places that
// the call does not have.
class Accesses {
 public:
  void add(const Access& access) {
    if (access.at && access.bytes > 0 && access.rows > 0) all_.push_back(access);
  }
  // Adds the first n floats of each row.
  void add_rows(const FloatRows& x, uint32_t rows, uint64_t n, bool writes = false) {
    const bool one = x.stride == 0 || rows == 1;
    add({.at = x.at,
         .bytes = n * kFloat,
         .stride = one ? 0 : x.stride * kFloat,
         .rows = one ? 1 : rows,
         .writes = writes});
  }
  void add_pages(const KvPages& pages, bool writes) {
    add_runs(pages.at, pages.heads * pages.head_bytes(), pages.stride, pages.count, writes);
  }
  // Adds the first `copies` copies of the pages.
  void add_pages(const LatentPages& pages, uint32_t copies, bool writes) {
    add_runs(pages.at, copies * pages.copy_bytes(), pages.stride, pages.count, writes);
  }
  void add_runs(const Place& at, uint64_t bytes, uint64_t stride, uint32_t count,
                bool writes = false) {
    add({.at = at,
         .bytes = bytes,
         .stride = count == 1 ? 0 : stride,
         .rows = count,
         .writes = writes});
  }
  void add_floats(const Place& at, uint64_t n) { add({.at = at, .bytes = n * kFloat}); }
  // Adds blocks [block0, block1) of the first rows of activations, in all arrays of their format.
  void add_activations(const ActRows& a, uint32_t rows, uint32_t block0, uint32_t block1,
                       bool writes);

  std::vector<Access> take() { return std::move(all_); }

 private:
  std::vector<Access> all_;
};

// An array of activations: where it begins after the first array, and its bytes for 32 elements.
struct ActArray {
  uint64_t offset, block_bytes;
};

std::vector<ActArray> arrays_of(const ActRows& a, uint64_t& row_blocks) {
  constexpr uintptr_t kBase = 64;  // a made-up address: only offsets come of it, nothing is read
  const ActBuffer buffer = act_buffer(a.format, reinterpret_cast<std::byte*>(kBase), a.rows, a.k);
  row_blocks = buffer.row_stride / kBlock;
  std::vector<ActArray> arrays;
  auto add = [&](const auto* array, uint64_t for_a_block) {
    if (array == nullptr) return;
    arrays.push_back({reinterpret_cast<uintptr_t>(array) - kBase, for_a_block * sizeof(*array)});
  };
  add(buffer.f32, kBlock);
  add(buffer.bf16, kBlock);
  add(buffer.codes, kBlock);
  add(buffer.scale, 1);
  add(buffer.bias32, 1);
  add(buffer.sum32, 1);
  add(buffer.bias16, 2);
  add(buffer.sum16, 2);
  return arrays;
}

void Accesses::add_activations(const ActRows& a, uint32_t rows, uint32_t block0, uint32_t block1,
                               bool writes) {
  uint64_t row_blocks = 0;
  for (const ActArray& array : arrays_of(a, row_blocks)) {
    add({.at = a.at + (array.offset + block0 * array.block_bytes),
         .bytes = (block1 - block0) * array.block_bytes,
         .stride = rows == 1 ? 0 : row_blocks * array.block_bytes,
         .rows = rows,
         .writes = writes});
  }
}

struct Gather {
  Accesses& out;

  void operator()(const NormCall& call) const {
    out.add_rows(call.x, call.rows, call.n);
    out.add_floats(call.weight, call.n);
    out.add_floats(call.bias, call.n);
    out.add_rows(call.out, call.rows, call.n, true);
  }
  void operator()(const HeadMomentsCall& call) const {
    out.add_rows(call.x, call.rows, uint64_t{call.heads} * call.length);
    out.add_rows(call.out, call.rows, uint64_t{2} * call.heads, true);
  }
  void operator()(const NormByCall& call) const {
    out.add_rows(call.x, call.rows, call.n);
    out.add_rows(call.moments, call.rows, uint64_t{2} * call.heads);
    out.add_floats(call.weight, call.n);
    out.add_floats(call.bias, call.n);
    out.add_rows(call.out, call.rows, call.n, true);
  }
  // The row numbers are not known here, and may name any row of the shard. So all of it counts as
  // read.
  void operator()(const TableCall& call) const {
    out.add({.at = call.codes, .bytes = call.spec.codes_bytes()});
    out.add({.at = call.scales, .bytes = call.spec.scales_bytes()});
    out.add({.at = call.rows_of, .bytes = uint64_t{call.rows} * sizeof(uint32_t)});
    if (call.keep) out.add_rows(call.out, call.rows, call.spec.k);
    out.add_rows(call.out, call.rows, call.spec.k, true);
  }
  void operator()(const QuantizeCall& call) const {
    add_placed(call.placed);
    out.add_rows(call.x, call.rows, call.n);
    out.add_activations(call.out, call.rows, 0, round_up(call.n, kBlock) / kBlock, true);
  }
  void operator()(const GemmCall& call) const {
    const uint64_t block = pack_kind_info(call.spec.kind).code_bytes;
    const uint64_t codes = call.spec.codes_panel_bytes();
    const uint64_t scales = call.spec.scales_panel_bytes();
    out.add({.at = call.codes + (call.panel0 * codes + call.block0 * block),
             .bytes = (call.block1 - call.block0) * block,
             .stride = call.panels == 1 ? 0 : codes,
             .rows = call.panels});
    if (call.scales) out.add({call.scales + call.panel0 * scales, call.panels * scales});
    out.add_activations(call.a, call.m, call.block0, call.block1, false);
    out.add_rows(call.out, call.m, uint64_t{call.panels} * kPanelRows, true);
  }
  void operator()(const AddCall& call) const {
    for (const FloatRows* x : {&call.a, &call.b, &call.c}) out.add_rows(*x, call.rows, call.n);
    out.add_rows(call.out, call.rows, call.n, true);
  }
  void operator()(const GateCall& call) const {
    add_placed(call.placed);
    out.add_rows(call.x, call.rows, call.n);
    out.add_floats(call.bias, call.n);
    out.add_rows(call.up, call.rows, call.n);
    out.add_rows(call.out, call.rows, call.n, true);
  }
  void operator()(const RopeCall& call) const {
    for (bool writes : {false, true}) add_heads(call, writes);
    const uint64_t angles = uint64_t{call.rows} * (call.n_rot / 2);
    out.add_floats(call.cos, angles);
    out.add_floats(call.sin, angles);
  }
  void operator()(const AttendCall& call) const {
    const uint64_t heads = call.heads, kv_heads = call.heads / std::max(call.group, 1u);
    out.add_rows(call.q, call.rows, heads * call.key_length);
    out.add_rows(call.k, call.step_rows, kv_heads * call.key_length);
    out.add_rows(call.v, call.step_rows, kv_heads * call.value_length);
    out.add({.at = call.rows_of, .bytes = uint64_t{call.rows} * sizeof(AttendRow)});
    out.add_floats(call.slopes, heads);
    out.add_rows(call.out, call.rows, heads * call.value_length, true);
  }
  void operator()(const KvStoreCall& call) const {
    const KvPages& pages = call.pages;
    out.add_rows(call.k, call.rows, uint64_t{pages.heads} * pages.key_length);
    out.add_rows(call.v, call.rows, uint64_t{pages.heads} * pages.value_length);
    out.add({.at = call.slots, .bytes = uint64_t{call.rows} * sizeof(uint32_t)});
    out.add_pages(pages, true);
  }
  void operator()(const PagedAttendCall& call) const {
    const uint64_t heads = call.heads;
    out.add_rows(call.q, call.rows, heads * call.pages.key_length);
    out.add({.at = call.rows_of, .bytes = uint64_t{call.rows} * sizeof(PagedRow)});
    out.add_pages(call.pages, false);
    out.add_rows(call.out, call.rows, heads * call.pages.value_length, true);
  }
  void operator()(const LatentStoreCall& call) const {
    out.add_rows(call.x, call.rows, call.pages.length);
    out.add({.at = call.slots, .bytes = uint64_t{call.rows} * sizeof(uint32_t)});
    out.add_pages(call.pages, call.pages.copies, true);
  }
  void operator()(const LatentAttendCall& call) const {
    add_parts(call.q, call.rows, call.heads, call.q_head, call.kv_lora_rank);
    add_parts(call.q_rope, call.rows, call.heads, call.rope_head, call.rope_length());
    out.add({.at = call.rows_of, .bytes = uint64_t{call.rows} * sizeof(PagedRow)});
    out.add_pages(call.pages, 1, false);
    out.add_rows(call.out, call.rows, uint64_t{call.heads} * call.kv_lora_rank, true);
  }
  void operator()(const LatentExpandCall& call) const {
    const uint32_t pages = pages_for(call.positions);
    LatentPages from = call.from;
    KvPages to = call.to;
    from.count = to.count = pages;
    out.add_pages(from, 1, false);
    out.add_rows(call.key, call.to.heads * call.kv_lora_rank, call.nope_length());
    out.add_rows(call.value, call.to.heads * call.to.value_length, call.kv_lora_rank);
    out.add_pages(to, true);
  }

  void operator()(const RouteCall& call) const {
    const uint64_t choices = uint64_t{call.rows} * call.rule.used;
    out.add_rows(call.logits, call.rows, call.rule.experts);
    out.add_floats(call.bias, call.rule.experts);
    out.add({.at = call.chosen, .bytes = choices * sizeof(uint32_t), .writes = true});
    out.add({.at = call.weights, .bytes = choices * kFloat, .writes = true});
  }
  void operator()(const GroupCall& call) const {
    const uint64_t bytes = call.choices() * sizeof(uint32_t);
    out.add({.at = call.chosen, .bytes = bytes});
    out.add({.at = call.place, .bytes = bytes, .writes = true});
    out.add({.at = call.row, .bytes = bytes, .writes = true});
    out.add({.at = call.first,
             .bytes = (uint64_t{call.experts} + 1) * sizeof(uint32_t),
             .writes = true});
  }

  void operator()(const ExpertGemmCall& call) const {
    out.add_runs(call.codes, call.spec.codes_bytes(), call.codes_stride, call.experts);
    out.add_runs(call.scales, call.spec.scales_bytes(), call.scales_stride, call.experts);
    add_first(call.first, call.expert0, call.experts);
    out.add({.at = call.row, .bytes = uint64_t{call.choices} * sizeof(uint32_t)});
    out.add_activations(call.a, call.a.rows, 0, call.spec.blocks(), false);
    out.add_rows(call.out, call.room, uint64_t{call.spec.panels()} * kPanelRows, true);
  }
  void operator()(const ExpertAddCall& call) const {
    const uint64_t choices = uint64_t{call.rows} * call.used;
    out.add_rows(call.x, call.room, call.n);
    for (const Place& at : {call.chosen, call.weights, call.place}) {
      out.add({.at = at, .bytes = choices * sizeof(uint32_t)});
    }
    add_first(call.first, call.expert0, call.experts);
    if (!call.begins) out.add_rows(call.out, call.rows, call.n);
    out.add_rows(call.out, call.rows, call.n, true);
  }

  void add_placed(const PlacedRows& placed) const {
    if (placed) add_first(placed.first, placed.expert0, placed.experts);
  }
  void add_first(const Place& first, uint32_t expert0, uint32_t experts) const {
    out.add({.at = first + sizeof(uint32_t) * expert0,
             .bytes = sizeof(uint32_t) * (uint64_t{experts} + 1)});
  }
  // Adds the first n floats of each head; heads are `apart` floats apart in each row.
  void add_parts(const FloatRows& x, uint32_t rows, uint64_t heads, uint64_t apart,
                 uint64_t n) const {
    out.add_rows(x, rows, heads == 0 ? 0 : (heads - 1) * apart + n);
  }
  // Adds the rotated part of each head. Where heads and rows lie at even distances, that is one
  // access.
  void add_heads(const RopeCall& call, bool writes) const {
    const uint64_t heads = call.heads, rows = call.rows;
    if (call.head_stride == call.n_rot) {
      return out.add_rows(call.x, call.rows, heads * call.n_rot, writes);
    }
    const bool even = rows == 1 || call.x.stride == heads * call.head_stride;
    if (even && rows * heads <= UINT32_MAX) {
      return out.add_rows({call.x.at, call.head_stride}, static_cast<uint32_t>(rows * heads),
                          call.n_rot, writes);
    }
    for (uint64_t head = 0; head < heads; ++head) {
      out.add_rows({call.x.at + head * call.head_stride * kFloat, call.x.stride}, call.rows,
                   call.n_rot, writes);
    }
  }
};

}  // namespace

GemmCall ExpertGemmCall::product(uint32_t i) const {
  return {.spec = spec,
          .codes = codes + codes_stride * i,
          .scales = scales ? scales + scales_stride * i : Place{},
          .panels = spec.panels(),
          .block1 = spec.blocks(),
          .a = a,
          .m = likely_rows,
          .out = out};
}

std::string contract_name(const KernelCall& call) { return std::visit(Name{}, call); }

std::vector<Access> accesses_of(const KernelCall& call) {
  Accesses accesses;
  std::visit(Gather{accesses}, call);
  return accesses.take();
}

}  // namespace hearth
