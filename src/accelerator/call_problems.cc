#include "accelerator/call_problems.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>

#include "accelerator/problem_memory.h"
#include "base/check.h"
#include "kernels/gemm/gemm_problem.h"

namespace hearth {
namespace {

// The sizes of rows: below, at and above 16 and 32, and those of a model.
struct Size {
  uint32_t rows, n;
};
std::vector<Size> sizes(bool brief) {
  if (brief) return {{1, 65}, {3, 33}, {2, 384}};
  return {{1, 1},  {3, 15}, {1, 16},  {17, 17},  {2, 31},
          {5, 32}, {3, 33}, {1, 300}, {33, 768}, {2, 4097}};
}
std::vector<ProblemValues> all_values(bool brief) {
  // Hostile values make the norms of long rows NaN. So the full check also has wide values, whose
  // norms are numbers.
  if (brief) return {ProblemValues::kPlain, ProblemValues::kHostile};
  return {ProblemValues::kPlain, ProblemValues::kWide, ProblemValues::kHostile};
}

template <typename Make>
Contract rows_contract(std::string name, bool brief, const Make& make) {
  return contract_over(std::move(name), all_values(brief), sizes(brief),
                       [=](ProblemMemory& memory, const Size& size) {
                         KernelCall call = make(memory, size);
                         return memory.finish(std::move(call),
                                              fmt::format("{} rows of {}", size.rows, size.n));
                       });
}

NormCall norm_problem(ProblemMemory& memory, const Size& size, NormCallKind kind, bool bias) {
  NormCall call{.kind = kind, .rows = size.rows, .n = size.n, .eps = 1e-5f};
  call.x = memory.rows(size.rows, size.n + 3);
  call.weight = memory.values(size.n);
  if (bias) call.bias = memory.values(size.n);
  call.out = memory.results(size.rows, size.n + 1, size.n);
  return call;
}

// Makes a problem of 1, 3 or 5 heads of size.n floats.
HeadMomentsCall moments_problem(ProblemMemory& memory, const Size& size) {
  HeadMomentsCall call{.rows = size.rows, .heads = 1 + size.n % 3 * 2, .length = size.n};
  call.centred = size.rows % 2 != 0;
  const uint32_t n = call.heads * call.length;
  call.x = memory.rows(size.rows, n + 3);
  call.out = memory.results(size.rows, 2 * call.heads + 1, 2 * call.heads);
  return call;
}

// Norms the heads of x by the moments of those heads and of one more; all heads have one length.
NormByCall norm_by_problem(ProblemMemory& memory, const Size& size) {
  NormByCall call{.rows = size.rows, .n = size.n, .eps = 1e-5f};
  call.length = size.n % 3 == 0 ? size.n / 3 : size.n;
  call.heads = size.n / call.length + 1;
  call.x = memory.rows(size.rows, size.n + 3);
  call.moments = memory.moments(size.rows, call.heads);
  call.weight = memory.values(size.n);
  if (size.rows % 2 != 0) call.bias = memory.values(size.n);
  call.out = call.x;  // in place, as models norm heads
  memory.note_floats(call.x, size.rows, size.n);
  return call;
}

// Gives two experts places for all rows but the last. Where `rows` is even or 1, makes no experts:
// the call works on all rows.
PlacedRows but_the_last(ProblemMemory& memory, uint32_t rows) {
  if (rows % 2 == 0 || rows == 1) return {};
  const uint32_t first[] = {4, 9, 9 + rows / 2, 8 + rows};
  return {memory.add(std::as_bytes(std::span(first))), 1, 2, rows / 2 + 1};
}

QuantizeCall quantize_problem(ProblemMemory& memory, const Size& size, ActFormat format) {
  QuantizeCall call{.x = memory.rows(size.rows, size.n + 5), .rows = size.rows, .n = size.n};
  call.out = {memory.add(act_bytes(format, size.rows, size.n)), format, size.rows, size.n};
  if (format == ActFormat::kF32) {
    const uint64_t stride = act_buffer(format, nullptr, size.rows, size.n).row_stride;
    memory.note_floats({call.out.at, stride}, size.rows, size.n);
  }
  call.placed = but_the_last(memory, size.rows);
  return call;
}

AddCall add_problem(ProblemMemory& memory, const Size& size, bool three) {
  AddCall call{.a = memory.rows(size.rows, size.n), .rows = size.rows, .n = size.n};
  call.b = memory.rows(size.rows, size.n + 2);
  if (three) call.c = {memory.values(size.n), 0};  // stride 0: the same row for all rows
  // The sum overwrites `a`, as in a residual stream.
  call.out = call.a;
  memory.note_floats(call.a, size.rows, size.n);
  return call;
}

GateCall gate_problem(ProblemMemory& memory, const Size& size, GateKind kind, bool bias, bool up) {
  GateCall call{.kind = kind, .rows = size.rows, .n = size.n};
  call.x = memory.rows(size.rows, size.n + 16);
  if (bias) call.bias = memory.values(size.n);
  if (up) call.up = memory.rows(size.rows, size.n);
  call.out = memory.results(size.rows, size.n, size.n);
  call.placed = but_the_last(memory, size.rows);
  return call;
}

RopeCall rope_problem(ProblemMemory& memory, const Size& size, RopeLayout layout) {
  RopeCall call{.rows = size.rows, .heads = 3, .layout = layout};
  call.n_rot = 2 * size.n > 512 ? 128 : 2 * size.n;
  call.head_stride = call.n_rot + 7;
  const uint64_t stride = uint64_t{call.heads} * call.head_stride + 1;
  call.x = memory.rows(size.rows, stride);
  memory.note_floats(call.x, size.rows, static_cast<uint32_t>(stride));
  call.cos = memory.values(uint64_t{size.rows} * call.n_rot / 2);
  call.sin = memory.values(uint64_t{size.rows} * call.n_rot / 2);
  return call;
}

struct GemmSize {
  uint32_t panels, blocks, super_offset, m, cuts;
};

CallProblem gemm_problem(BufferId buffer, std::mt19937& random, PackKind kind, const PackForm& form,
                         const GemmSize& size, Fill fill) {
  const Problem made = make_problem(kind, form, size.panels, size.blocks, size.super_offset, size.m,
                                    fill, static_cast<uint32_t>(random()));
  ProblemMemory memory(buffer, random, ProblemValues::kPlain);
  GemmCall call{.spec = made.spec, .panel0 = size.panels > 2 ? 1u : 0u, .block1 = size.blocks};
  call.panels = size.panels - call.panel0;
  call.block0 = size.blocks > 8 ? 1 : 0;
  call.codes = memory.add(std::span(made.codes.data(), made.spec.codes_bytes()));
  call.scales = memory.add(std::span(made.scales.data(), made.spec.scales_bytes()));
  const ActFormat format = act_format_for(kind);
  call.a = {memory.add(std::span(made.act_bytes.data(), act_bytes(format, size.m, made.spec.k))),
            format, size.m, made.spec.k};
  call.m = size.m;
  const uint32_t columns = call.panels * 16;
  call.out = memory.results(size.m, columns + 16, columns);
  for (uint32_t i = 1; i <= size.cuts; ++i) {
    call.cuts.push_back(call.block0 + (call.block1 - call.block0) * i / (size.cuts + 1));
  }
  return memory.finish(std::move(call),
                       fmt::format("{} rows, {} blocks from {}, {} panels, {} cuts", size.m,
                                   size.blocks, size.super_offset, size.panels, size.cuts));
}

Contract gemm_contract(PackKind kind, bool brief) {
  // Products with few rows and with more than 16 rows, for which the shader takes different numbers
  // of rows at a time. K is whole in some of them and cut in the others.
  std::vector<GemmSize> sizes = {{3, 11, 3, 5, 2}, {2, 9, 0, 33, 0}, {1, 9, 1, 33, 7}};
  if (!brief) {
    sizes.push_back({1, 1, 0, 1, 0});
    sizes.push_back({2, 8, 0, 16, 0});
    sizes.push_back({4, 17, 5, 33, 7});
    sizes.push_back({1, 40, 1, 2, 1});
  }
  Contract contract{fmt::format("gemm {}", pack_kind_info(kind).name), {}, kind};
  for (const PackForm& form : forms_of(kind)) {
    for (Fill fill : {Fill::kRandom, Fill::kExtreme}) {
      for (const GemmSize& size : sizes) {
        contract.problems.push_back([=](BufferId buffer, std::mt19937& random) {
          return gemm_problem(buffer, random, kind, form, size, fill);
        });
      }
    }
  }
  return contract;
}

struct TableSize {
  uint32_t panels, blocks, super_offset, rows;
  bool keep = false;
  float scale = 1;
};

// Makes a lookup in which some rows belong to other shards. The shard's last panel and last block
// are not full.
CallProblem table_problem(BufferId buffer, std::mt19937& random, PackKind kind,
                          const PackForm& form, const TableSize& size, Fill fill) {
  const Problem made = make_problem(kind, form, size.panels, size.blocks, size.super_offset, 1,
                                    fill, static_cast<uint32_t>(random()));
  ProblemMemory memory(buffer, random, ProblemValues::kPlain);
  std::vector<std::byte> codes(made.codes.data(), made.codes.data() + made.spec.codes_bytes());
  // Makes some FP8 codes NaN. Problems of products have no such codes.
  for (size_t i = 0; is_fp8(kind) && i < codes.size(); i += 97) codes[i] |= std::byte{0x7f};
  TableCall call{.spec = made.spec, .row0 = 1000, .rows = size.rows};
  call.spec.rows -= 3;
  call.spec.k -= 5;
  call.codes = memory.add(codes);
  call.scales = memory.add(std::span(made.scales.data(), made.spec.scales_bytes()));
  std::vector<uint32_t> rows;
  for (uint32_t i = 0; i < size.rows; ++i) {
    rows.push_back(call.row0 - 2 + static_cast<uint32_t>(random() % (call.spec.rows + 4)));
  }
  call.rows_of = memory.add(std::as_bytes(std::span(rows)));
  call.scale = size.scale;
  call.keep = size.keep;
  const uint32_t stride = call.spec.k + 2;
  call.out =
      size.keep ? memory.rows(size.rows, stride) : memory.results(size.rows, stride, call.spec.k);
  if (size.keep) memory.note_floats(call.out, size.rows, call.spec.k);
  return memory.finish(
      call, fmt::format("{} rows of {} by {}, {} blocks from {}", size.rows, call.spec.rows,
                        call.spec.k, size.blocks, size.super_offset));
}

Contract table_contract(PackKind kind, bool brief) {
  std::vector<TableSize> sizes = {{2, 11, 3, 40, true, 1.7f}, {1, 9, 0, 25}};
  if (!brief) {
    sizes.push_back({3, 1, 1, 1});
    sizes.push_back({5, 24, 5, 70, false, 27.712812f});
    // This lookup has more rows than one dispatch takes.
    if (kind == PackKind::kF32) sizes.push_back({2, 1, 0, 70000});
  }
  Contract contract{fmt::format("table {}", pack_kind_name(kind)), {}, kind};
  for (const PackForm& form : forms_of(kind)) {
    for (Fill fill : {Fill::kRandom, Fill::kExtreme}) {
      for (const TableSize& size : sizes) {
        contract.problems.push_back([=](BufferId buffer, std::mt19937& random) {
          return table_problem(buffer, random, kind, form, size, fill);
        });
      }
    }
  }
  return contract;
}

}  // namespace

std::vector<Contract> all_contracts(bool brief) {
  std::vector<Contract> all;
  auto add = [&](const char* name, const auto& make) {
    all.push_back(rows_contract(name, brief, make));
  };
  add("rms norm",
      [](ProblemMemory& m, Size s) { return norm_problem(m, s, NormCallKind::kRms, false); });
  add("layer norm", [](ProblemMemory& m, Size s) {
    return norm_problem(m, s, NormCallKind::kLayer, s.rows % 2 != 0);
  });
  add("moments of heads", moments_problem);
  add("norm by moments", norm_by_problem);
  add("quantize f32",
      [](ProblemMemory& m, Size s) { return quantize_problem(m, s, ActFormat::kF32); });
  add("quantize bf16",
      [](ProblemMemory& m, Size s) { return quantize_problem(m, s, ActFormat::kBF16); });
  add("quantize q8",
      [](ProblemMemory& m, Size s) { return quantize_problem(m, s, ActFormat::kQ8); });
  add("add", [](ProblemMemory& m, Size s) { return add_problem(m, s, s.rows % 2 != 0); });
  add("silu",
      [](ProblemMemory& m, Size s) { return gate_problem(m, s, GateKind::kSilu, false, true); });
  add("gelu", [](ProblemMemory& m, Size s) {
    return gate_problem(m, s, GateKind::kGelu, s.rows % 2 != 0, s.rows > 2);
  });
  add("gelu tanh", [](ProblemMemory& m, Size s) {
    return gate_problem(m, s, GateKind::kGeluTanh, s.rows % 2 != 0, s.rows > 2);
  });
  add("rope", [](ProblemMemory& m, Size s) {
    return rope_problem(m, s, s.rows % 2 != 0 ? RopeLayout::kHalf : RopeLayout::kInterleaved);
  });
  add_attention_contracts(brief, &all);
  add_latent_contracts(brief, &all);
  add_routing_contracts(brief, &all);
  for (size_t kind = 0; kind < kPackKinds; ++kind) {
    all.push_back(gemm_contract(static_cast<PackKind>(kind), brief));
  }
  for (size_t kind = 0; kind < kPackKinds; ++kind) {
    all.push_back(table_contract(static_cast<PackKind>(kind), brief));
  }
  return all;
}

}  // namespace hearth
