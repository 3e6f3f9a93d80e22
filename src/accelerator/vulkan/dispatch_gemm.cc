// Dispatches of products, by shaders/gemm.comp.
#include <algorithm>
#include <array>
#include <cstring>
#include <initializer_list>
#include <vector>

#include "accelerator/vulkan/dispatch.h"
#include "accelerator/vulkan/shader_pack.h"
#include "base/check.h"
#include "base/error.h"
#include "base/round_up.h"

namespace hearth {
namespace {

// The push constants; shaders/gemm.comp has the same block.
struct GemmPush {
  uint64_t codes, scales, a, a_scale, a_sum, out;
  uint32_t codes_panel, scales_panel, block_scales;
  uint32_t super_offset, group_shift;
  uint32_t row_stride, out_stride;
  uint32_t m, panels;
  uint32_t block0, segments;
  std::array<uint32_t, kMaxCuts + 1> ends;
  uint32_t zero;
};
static_assert(sizeof(GemmPush) <= 128);

// The most multiply-adds and bytes of a dispatch. The shader's indices have 32 bits.
constexpr uint64_t kGemmProducts = uint64_t{1} << 31;
constexpr uint64_t kGemmBytes = uint64_t{1} << 31;
// The fewest rows of a dispatch, if the product has as many. With fewer rows, the weights would be
// read again too often.
constexpr uint32_t kGemmJointRows = 256;
// All rows may choose the same expert, though that is not likely. If they do, a dispatch may do up
// to kMaxSkew times the work that other dispatches do at most.
constexpr uint64_t kMaxSkew = 8;

// The tile that a work group computes.
struct GemmTile {
  uint32_t invocation_rows;  // rows of activations of an invocation
  bool few;                  // there are at most invocation_rows rows

  uint32_t rows() const { return few ? invocation_rows : 4 * invocation_rows; }
  uint32_t panels() const { return few ? 4 : 1; }
};

GemmTile gemm_tile(uint32_t m) {
  const uint32_t rows = m == 1 ? 1 : m <= 16 ? 4 : 8;
  return {rows, m <= rows};
}

// The numbers and addresses from which the dispatches of a product are made.
struct GemmProduct {
  const GemmCall& call;
  ShaderPack pack;
  GemmTile tile;
  // The activations: elements from row to row, bytes of an element, and the addresses of row 0's
  // arrays.
  size_t row_stride = 0, element_bytes = 0;
  uint64_t a = 0, a_scale = 0, a_sum = 0;
  bool of_expert = false, gathers = false;
};

// Finds the addresses of the arrays of activations: it lays the arrays out over an arbitrary
// address, and takes the distances.
void place_activations(const ActRows& rows, uint64_t address, bool halves, GemmProduct& product) {
  constexpr uintptr_t kAnywhere = 4096;
  const ActBuffer buffer =
      act_buffer(rows.format, reinterpret_cast<std::byte*>(kAnywhere), rows.rows, rows.k);
  auto of = [&](const void* array) {
    return address + (reinterpret_cast<uintptr_t>(array) - kAnywhere);
  };
  product.row_stride = buffer.row_stride;
  switch (rows.format) {
    case ActFormat::kF32:
      product.a = of(buffer.f32);
      product.element_bytes = sizeof(float);
      return;
    case ActFormat::kBF16:
      product.a = of(buffer.bf16);
      product.element_bytes = sizeof(bf16_t);
      return;
    case ActFormat::kQ8:
      product.a = of(buffer.codes);
      product.element_bytes = sizeof(int8_t);
      product.a_scale = of(buffer.scale);
      product.a_sum = halves ? of(buffer.sum16) : of(buffer.sum32);
      return;
  }
}

// Returns the constants in the order of shaders/gemm_kind.glsl.
std::vector<uint32_t> gemm_constants(const GemmProduct& p) {
  std::vector<uint32_t> constants = p.pack.constants;
  constants.insert(constants.end(),
                   {p.tile.invocation_rows, p.tile.few ? 1u : 0u, p.call.cuts.empty() ? 0u : 1u,
                    p.of_expert ? 1u : 0u, p.gathers ? 1u : 0u});
  return constants;
}

// The part of a product that one dispatch computes.
struct GemmPiece {
  uint32_t rows, panels;
  uint32_t row = 0, panel = 0;  // the first ones, counted from the call's
};

GemmPush gemm_push(const GemmProduct& p, const AddressOf& address, const GemmPiece& piece) {
  const GemmCall& call = p.call;
  const PackSpec& spec = call.spec;
  const size_t codes_panel = spec.codes_panel_bytes(), scales_panel = spec.scales_panel_bytes();
  const size_t blocks = p.row_stride / kBlock;
  const size_t parts = kBlock / pack_kind_info(spec.kind).scale_elements;
  GemmPush push = {};
  push.codes = address(call.codes) + codes_panel * (call.panel0 + piece.panel);
  push.scales = address(call.scales) + scales_panel * (call.panel0 + piece.panel);
  push.a = p.a + p.element_bytes * p.row_stride * piece.row;
  push.a_scale = p.a_scale + sizeof(float) * blocks * piece.row;
  push.a_sum = p.a_sum + sizeof(float) * blocks * parts * piece.row;
  push.out = address(call.out.at) +
             sizeof(float) * (call.out.stride * piece.row + kPanelRows * piece.panel);
  push.codes_panel = static_cast<uint32_t>(codes_panel / sizeof(uint32_t));
  push.scales_panel = static_cast<uint32_t>(scales_panel);
  push.block_scales = p.pack.block_scales;
  push.super_offset = p.pack.super_offset;
  push.group_shift = p.pack.group_shift;
  push.row_stride = static_cast<uint32_t>(p.row_stride);
  push.out_stride = static_cast<uint32_t>(call.out.stride);
  push.m = piece.rows;
  push.panels = piece.panels;
  push.block0 = call.block0;
  push.segments = static_cast<uint32_t>(call.cuts.size()) + 1;
  std::ranges::copy(call.cuts, push.ends.begin());
  push.ends[call.cuts.size()] = call.block1;
  return push;
}

// Returns the largest part that one dispatch may compute. It is a multiple of what a workgroup
// computes.
GemmPiece largest_gemm_piece(const GemmProduct& p) {
  const GemmCall& call = p.call;
  const PackSpec& spec = call.spec;
  const uint64_t products = uint64_t{kPanelRows} * kBlock * std::max(call.block1 - call.block0, 1u);
  const uint64_t panel_bytes =
      std::max<uint64_t>({spec.codes_panel_bytes(), spec.scales_panel_bytes(), 1});
  const uint64_t row_bytes = sizeof(float) * std::max<uint64_t>({p.row_stride, call.out.stride, 1});
  const auto whole_tiles = [](uint64_t wanted, std::initializer_list<uint64_t> limits,
                              uint32_t of) {
    const uint64_t tiles = std::min({wanted / of + 1, std::min(limits) / of, kMaxGroups});
    return static_cast<uint32_t>(std::max<uint64_t>(tiles, 1) * of);
  };
  const uint64_t joint = std::min(call.m, kGemmJointRows);
  const uint32_t panels = whole_tiles(
      call.panels, {kGemmProducts / (products * joint), kGemmBytes / panel_bytes}, p.tile.panels());
  const uint64_t of_panels = products * std::min(panels, call.panels);
  const uint32_t rows =
      whole_tiles(call.m, {kGemmProducts / of_panels, kGemmBytes / row_bytes}, p.tile.rows());
  return {rows, panels};
}

GemmProduct gemm_product(const GemmCall& call, const AddressOf& address) {
  const PackKindInfo& info = pack_kind_info(call.spec.kind);
  GemmProduct product = {.call = call, .pack = shader_pack(call.spec), .tile = gemm_tile(call.m)};
  place_activations(call.a, address(call.a.at), info.scale_elements < kBlock, product);
  return product;
}

// Returns how many panels of an expert one dispatch computes at most. It computes them for all rows
// of the expert, whose number is not known here. The likely number of rows decides how many panels
// fit in; if far more rows may choose the expert, there are fewer panels.
uint32_t max_panels(const GemmProduct& p, const ExpertGemmCall& call) {
  uint64_t rows = std::max(std::min(call.room, call.choices), 1u);
  if (call.row) rows = std::min<uint64_t>(rows, std::max(call.a.rows, 1u));
  const uint64_t of_panel = rows * kPanelRows * kBlock * std::max(call.spec.blocks(), 1u);
  const uint64_t tiles = kMaxSkew * kGemmProducts / of_panel / p.tile.panels();
  const uint64_t panels = std::max<uint64_t>(tiles, 1) * p.tile.panels();
  return static_cast<uint32_t>(std::min<uint64_t>(panels, largest_gemm_piece(p).panels));
}

// Appends the dispatches of one expert. Each computes some of its panels for all of its rows.
void add_expert(const ExpertGemmCall& call, uint32_t expert, const AddressOf& address,
                std::vector<Dispatch>* dispatches) {
  const GemmCall of = call.product(expert);
  GemmProduct product = gemm_product(of, address);
  product.of_expert = true;
  product.gathers = static_cast<bool>(call.row);
  if (uint64_t{call.a.rows} * product.row_stride * product.element_bytes > kGemmBytes ||
      call.room * call.out.stride * sizeof(float) > 4 * kGemmBytes) {
    fail(ErrorCode::kUnsupported,
         "{} rows of activations for {} places of experts are more than shaders can index: lower "
         "--gpu-rows",
         call.a.rows, call.room);
  }
  const uint32_t most = max_panels(product, call);
  const GemmTile& tile = product.tile;
  // The dispatch gets workgroups for twice as many rows as are likely.
  const uint64_t rows = std::min(uint64_t{2} * call.likely_rows, uint64_t{call.room});
  for (uint32_t panel = 0; panel < of.panels; panel += most) {
    const GemmPiece piece = {of.m, std::min(most, of.panels - panel), 0, panel};
    Dispatch& d =
        dispatches->emplace_back(Dispatch{.shader = "gemm", .constants = gemm_constants(product)});
    GemmPush push = gemm_push(product, address, piece);
    const uint64_t first = address(call.first) + sizeof(uint32_t) * call.expert0;
    const uint64_t row = call.row ? address(call.row) : 0;
    std::memcpy(&push.ends[1], &first, sizeof first);
    std::memcpy(&push.ends[3], &row, sizeof row);
    push.ends[5] = expert;
    d.set_push(push);
    d.groups = {round_up(piece.panels, tile.panels()) / tile.panels(),
                static_cast<uint32_t>(std::min((rows + tile.rows() - 1) / tile.rows(), kMaxGroups)),
                1};
  }
}

}  // namespace

std::vector<Dispatch> dispatches_of(const GemmCall& call, const AddressOf& address) {
  if (call.m == 0 || call.panels == 0) return {};
  HEARTH_CHECK(call.cuts.size() <= kMaxCuts, "the call was checked");
  const GemmProduct product = gemm_product(call, address);
  const GemmTile& tile = product.tile;
  const GemmPiece most = largest_gemm_piece(product);
  const Dispatch empty = {.shader = "gemm", .constants = gemm_constants(product)};
  std::vector<Dispatch> dispatches;
  for (uint32_t row = 0; row < call.m; row += most.rows) {
    for (uint32_t panel = 0; panel < call.panels; panel += most.panels) {
      const GemmPiece piece = {std::min(most.rows, call.m - row),
                               std::min(most.panels, call.panels - panel), row, panel};
      Dispatch& dispatch = dispatches.emplace_back(empty);
      dispatch.set_push(gemm_push(product, address, piece));
      dispatch.groups = {round_up(piece.panels, tile.panels()) / tile.panels(),
                         round_up(piece.rows, tile.rows()) / tile.rows(), 1};
    }
  }
  return dispatches;
}

std::vector<Dispatch> dispatches_of(const ExpertGemmCall& call, const AddressOf& address) {
  std::vector<Dispatch> dispatches;
  for (uint32_t i = 0; i < call.experts; ++i) add_expert(call, i, address, &dispatches);
  return dispatches;
}

}  // namespace hearth
