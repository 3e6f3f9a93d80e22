// The calls that an accelerator can be asked to compute, named by contract: a family of kernels/,
// and the arguments of its functions, with places for pointers. A back end has a shader, or
// whatever it calls it, for each; the results are those of the family's contract to the bit.
//
// All calls work on rows of a step: row i of a matrix of floats begins `stride` floats behind row
// i - 1. A stride of 0 says that all rows are one, as a bias is.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "accelerator/place.h"
#include "kernels/attention/latent.h"
#include "kernels/gemm/gemm.h"
#include "kernels/quantize/quantize.h"
#include "kernels/rope/rope.h"
#include "kernels/routing/routing.h"
#include "tensor/pack_spec.h"

namespace hearth {

struct FloatRows {
  Place at;             // 4-byte aligned
  uint64_t stride = 0;  // floats

  explicit operator bool() const { return static_cast<bool>(at); }
  bool operator==(const FloatRows&) const = default;
};

// Rows of activations in a format: the bytes that act_buffer(format, base, rows, k) lays out
// (kernels/quantize/quantize.h). 64-byte aligned.
struct ActRows {
  Place at;
  ActFormat format = ActFormat::kF32;
  uint32_t rows = 0;  // that there is room for
  uint32_t k = 0;     // elements of a row

  bool operator==(const ActRows&) const = default;
};

// kernels/norm/norm.h, a row each. Without a weight there is none to multiply by; only a layer norm
// may have a bias.
enum class NormCallKind : uint8_t { kRms, kLayer };
struct NormCall {
  NormCallKind kind = NormCallKind::kRms;
  FloatRows x = {};
  Place weight = {};  // [n]
  Place bias = {};    // [n] or none
  uint32_t rows = 0, n = 0;
  float eps = 0;
  FloatRows out = {};  // may be x
};

// kernels/norm/norm.h: head_moments of `heads` heads of every row, which lie side by side. Those of
// head h are floats 2 h and 2 h + 1 of a row of `out`.
struct HeadMomentsCall {
  FloatRows x = {};
  uint32_t rows = 0, heads = 0, length = 0;  // length: floats of a head
  bool centred = true;
  FloatRows out = {};
};

// kernels/norm/norm.h: norm_by with the row_scale_of of the row's moments, of `heads` heads of
// `length` floats, of which x may have some.
struct NormByCall {
  FloatRows x = {}, moments = {};
  Place weight = {};  // [n]
  Place bias = {};    // [n] or none
  uint32_t rows = 0, n = 0;
  uint32_t heads = 0, length = 0;
  float eps = 0;
  FloatRows out = {};  // may be x
};

// Rows of a table of embeddings, of which a shard has rows [row0, row0 + spec.rows): row i of `out`
// is row rows_of[i] of the table, as unpack_row() reads it (tensor/pack_spec.h), each float times
// `scale`, rounded once. Where the shard has no such row, it stays as it was or is made of zeros,
// so that a table of several shards takes a call each, all but the first with `keep`.
struct TableCall {
  PackSpec spec = {};
  Place codes = {}, scales = {};  // of the shard; 64-byte aligned
  uint32_t row0 = 0;
  Place rows_of = {};  // [rows]: uint32_t
  uint32_t rows = 0;
  float scale = 1;
  bool keep = false;
  FloatRows out = {};
};

// The places of experts [expert0, expert0 + experts) as a GroupCall gave them: a call with these
// computes as many of its first rows, counted from the first place (ExpertGemmCall), and leaves the
// others as they were.
struct PlacedRows {
  Place first = {};  // or none: all rows are meant
  uint32_t expert0 = 0, experts = 0;
  uint32_t likely_rows = 0;  // of an expert: what it costs depends on it, and nothing else

  explicit operator bool() const { return static_cast<bool>(first); }
};

// kernels/quantize/quantize.h: elements [0, n) of rows [0, rows) into rows [0, rows) of `out`.
struct QuantizeCall {
  FloatRows x = {};
  uint32_t rows = 0, n = 0;  // n: out.k
  ActRows out = {};
  PlacedRows placed = {};
};

// kernels/gemm/gemm.h: out[row][16 * (panel - panel0) + lane] for rows [0, m).
struct GemmCall {
  PackSpec spec = {};
  Place codes = {}, scales = {};  // of the shard; 64-byte aligned
  uint32_t panel0 = 0, panels = 0;
  uint32_t block0 = 0, block1 = 0;
  ActRows a = {};
  uint32_t m = 0;
  FloatRows out = {};
  std::vector<uint32_t> cuts = {};  // at most kMostCuts
};

// kernels/sum/sum.h: out = a + b, or a + (b + c).
struct AddCall {
  FloatRows a = {}, b = {}, c = {};  // c: or none
  uint32_t rows = 0, n = 0;
  FloatRows out = {};  // may be any of them
};

// kernels/activation/activation.h.
enum class GateKind : uint8_t { kSilu, kGelu, kGeluTanh };
struct GateCall {
  GateKind kind = GateKind::kSilu;
  FloatRows x = {};
  Place bias = {};    // [n] or none; of GELU alone
  FloatRows up = {};  // of GELU: or none
  uint32_t rows = 0, n = 0;
  FloatRows out = {};  // may be x or up
  PlacedRows placed = {};
};

// kernels/rope/rope.h: turns `heads` heads of every row in place, each `head_stride` floats behind
// the one before. Row i's angles are cos[i][n_rot / 2] and sin[i][n_rot / 2].
struct RopeCall {
  FloatRows x = {};
  uint32_t rows = 0, heads = 0;
  uint32_t head_stride = 0;  // floats, at least n_rot
  Place cos = {}, sin = {};
  uint32_t n_rot = 0;
  RopeLayout layout = RopeLayout::kHalf;
};

// kernels/attention/attention.h over keys and values of the step alone, in f32: a row sees the
// positions [first, last] of its text, whose row at position 0 is row `text` of k and v; `position`
// is its own. Query head h reads key head h / group.
struct AttendCall {
  FloatRows q = {}, k = {}, v = {};  // heads side by side, without padding
  Place rows_of = {};                // [rows]: AttendRow
  uint32_t rows = 0;
  uint32_t step_rows = 0;  // of k and v
  uint32_t heads = 0, group = 1;
  uint32_t key_length = 0, value_length = 0;
  float scale = 1;
  Place slopes = {};  // [heads] of ALiBi, or none
  FloatRows out = {};
};
struct AttendRow {
  uint32_t text, position, first, last;
};

// Pages of one layer's keys and values as kernels/attention/attention.h lays them out: page i
// begins i * stride bytes behind `at`, with `heads` heads on end, each its half of keys and its
// half of values.
struct KvPages {
  Place at = {};        // 64-byte aligned
  uint64_t stride = 0;  // bytes, a multiple of 64
  uint32_t count = 0;
  KvType type = KvType::kF32;
  uint32_t heads = 0, key_length = 0, value_length = 0;

  uint64_t head_bytes() const {
    return kv_half_bytes(type, key_length) + kv_half_bytes(type, value_length);
  }
};

// kv_store of kernels/attention/attention.h: keys and values of rows, heads side by side without
// padding. What it does not store of a page stays as it was.
struct KvStoreCall {
  FloatRows k = {}, v = {};
  Place slots = {};  // [rows]: uint32_t, page * 64 + slot; no two are alike
  uint32_t rows = 0;
  KvPages pages = {};
};

// attend of kernels/attention/attention.h over pages: a row sees the positions [first, last] of its
// text, whose page of position p is page first_page + p / 64. Query head h reads key head
// `kv_head0` + h / group.
struct PagedAttendCall {
  FloatRows q = {};    // heads side by side, without padding
  Place rows_of = {};  // [rows]: PagedRow
  uint32_t rows = 0;
  uint32_t positions = 0;  // no row sees more
  uint64_t seen = 0;       // positions of all rows together: what it costs, and nothing else
  uint32_t heads = 0, group = 1, kv_head0 = 0;
  float scale = 1;
  KvPages pages = {};
  FloatRows out = {};
};
// Pages are counted modulo 2^32: one that no row sees need not be there.
struct PagedRow {
  uint32_t first_page, first, last, zero;
};

// Pages of one layer's latents as kernels/attention/latent.h lays them out: page i begins i *
// stride bytes behind `at`, with `copies` of it on end, all alike.
struct LatentPages {
  Place at = {};        // 64-byte aligned
  uint64_t stride = 0;  // bytes, a multiple of 64
  uint32_t count = 0;
  KvType type = KvType::kF32;
  uint32_t copies = 1;
  uint32_t length = 0;  // of a position: its latent, and what RoPE turned behind it

  uint64_t copy_bytes() const { return kv_half_bytes(type, length); }
};

// store_latent of kernels/attention/latent.h, into every copy. What it does not store of a page
// stays as it was.
struct LatentStoreCall {
  FloatRows x = {};  // [rows][pages.length]
  Place slots = {};  // as of a KvStoreCall
  uint32_t rows = 0;
  LatentPages pages = {};
};

// attend_latent of kernels/attention/latent.h over the first copy of pages; rows see positions as
// of a PagedAttendCall, always from the first on. A head's query is what latents are multiplied
// with, latent_length floats in `q`, and behind it what their turned part is, the rest of
// pages.length in `turned`.
struct LatentAttendCall {
  FloatRows q = {}, turned = {};
  uint32_t q_head = 0, turned_head = 0;  // floats from head to head
  Place rows_of = {};                    // [rows]: PagedRow
  uint32_t rows = 0;
  uint32_t positions = 0;  // no row sees more
  uint64_t seen = 0;       // positions of all rows together: what it costs, and nothing else
  uint32_t heads = 0;
  uint32_t latent_length = 0;
  float scale = 1;
  LatentPages pages = {};
  FloatRows out = {};  // [rows][heads][latent_length]

  uint32_t turned_length() const { return pages.length - latent_length; }
};

// expand_latent of kernels/attention/latent.h: keys and values of some heads at the first positions
// of pages, into pages of keys and values in f32, which a PagedAttendCall reads: attend_expanded
// has the arithmetic of attend_f32. Positions that are not made stay as they were.
struct LatentExpandCall {
  LatentPages from = {};
  uint32_t positions = 0;  // as many pages of both as have them
  uint32_t latent_length = 0;
  // Row latent_length * h + i: element i's part of all of head h's key but what is turned. Row
  // value_length * h + e: the latent's part of element e of its value.
  FloatRows key = {}, value = {};
  KvPages to = {};  // whose heads they are

  uint32_t straight_length() const { return to.key_length - (from.length - latent_length); }
};

// choose_experts of kernels/routing/routing.h, for rows of a router's logits.
struct RouteCall {
  RouterRule rule = {};
  FloatRows logits = {};  // [rows][rule.experts]
  Place bias = {};        // [rule.experts] or none
  uint32_t rows = 0;
  Place chosen = {};   // [rows][rule.used]: uint32_t, ascending
  Place weights = {};  // [rows][rule.used]
};

// group_by_expert of kernels/routing/routing.h: the place of every choice, the row of every place,
// and the first place of every expert. Of a row no two choices are alike.
struct GroupCall {
  Place chosen = {};  // [rows][used]: uint32_t below `experts`
  uint32_t rows = 0, used = 0, experts = 0;
  Place place = {};  // [rows][used]: uint32_t, as all of these are
  Place row = {};    // [rows * used]
  Place first = {};  // [experts + 1]

  uint64_t choices() const { return uint64_t{rows} * used; }
};

// Products of experts [expert0, expert0 + experts) with their rows, as a GroupCall placed them: of
// expert e places [first[e], first[e + 1]). They are counted from the first of them, place
// first[expert0] being 0: with place i row i of `a` is multiplied, or with `row` row
// row[first[expert0] + i] of it, and row i of `out` becomes the result.
struct ExpertGemmCall {
  PackSpec spec = {};                            // of each expert
  Place codes = {}, scales = {};                 // of expert0; 64-byte aligned
  uint64_t codes_stride = 0, scales_stride = 0;  // bytes from expert to expert, multiples of 64
  uint32_t expert0 = 0, experts = 1;
  uint32_t choices = 0;  // of the GroupCall
  Place first = {};
  Place row = {};  // or none
  ActRows a = {};
  uint32_t likely_rows = 1;  // of an expert: what it costs depends on it, and nothing else
  uint32_t room = 0;         // rows of `out`: there are no more places
  FloatRows out = {};        // [room][16 * panels]

  // The product of expert expert0 + i with as many rows as are likely, from the first row of `a`.
  GemmCall product(uint32_t i) const;
};

// Adds what experts [expert0, expert0 + experts) made of rows onto the rows' sums, as weighted_sum
// of kernels/sum/sum.h adds a term onto the top: experts ascend, and x[i] is of place i as an
// ExpertGemmCall counts them. A row that chose none of them keeps its sum.
struct ExpertAddCall {
  FloatRows x = {};                                         // [room][n]
  uint32_t room = 0;                                        // there are no more places
  Place chosen = {}, weights = {}, place = {}, first = {};  // of a RouteCall and a GroupCall
  uint32_t rows = 0, used = 0;
  uint32_t expert0 = 0, experts = 1;
  uint32_t likely_rows = 1;  // as of an ExpertGemmCall
  uint32_t n = 0;
  // Sums begin here, with -0, which changes no number that is added to it.
  bool begins = false;
  FloatRows out = {};  // [rows][n]
};

using KernelCall =
    std::variant<NormCall, HeadMomentsCall, NormByCall, TableCall, QuantizeCall, GemmCall, AddCall,
                 GateCall, RopeCall, AttendCall, KvStoreCall, PagedAttendCall, LatentStoreCall,
                 LatentAttendCall, LatentExpandCall, RouteCall, GroupCall, ExpertGemmCall,
                 ExpertAddCall>;

// "gemm q4_k", "layer norm", ...: the contract and what of it a shader is made for.
std::string contract_name(const KernelCall& call);

// Calls `visit` with every place that the call names, those that are none too.
template <typename Visit>
void for_each_place(KernelCall* call, const Visit& visit) {
  auto all = [&](auto&... places) { (visit(&places), ...); };
  struct Visitor {
    decltype(all)& of;
    void operator()(NormCall& c) const { of(c.x.at, c.weight, c.bias, c.out.at); }
    void operator()(HeadMomentsCall& c) const { of(c.x.at, c.out.at); }
    void operator()(NormByCall& c) const { of(c.x.at, c.moments.at, c.weight, c.bias, c.out.at); }
    void operator()(TableCall& c) const { of(c.codes, c.scales, c.rows_of, c.out.at); }
    void operator()(QuantizeCall& c) const { of(c.x.at, c.out.at, c.placed.first); }
    void operator()(GemmCall& c) const { of(c.codes, c.scales, c.a.at, c.out.at); }
    void operator()(AddCall& c) const { of(c.a.at, c.b.at, c.c.at, c.out.at); }
    void operator()(GateCall& c) const { of(c.x.at, c.bias, c.up.at, c.out.at, c.placed.first); }
    void operator()(RopeCall& c) const { of(c.x.at, c.cos, c.sin); }
    void operator()(AttendCall& c) const {
      of(c.q.at, c.k.at, c.v.at, c.rows_of, c.slopes, c.out.at);
    }
    void operator()(KvStoreCall& c) const { of(c.k.at, c.v.at, c.slots, c.pages.at); }
    void operator()(PagedAttendCall& c) const { of(c.q.at, c.rows_of, c.pages.at, c.out.at); }
    void operator()(LatentStoreCall& c) const { of(c.x.at, c.slots, c.pages.at); }
    void operator()(LatentAttendCall& c) const {
      of(c.q.at, c.turned.at, c.rows_of, c.pages.at, c.out.at);
    }
    void operator()(LatentExpandCall& c) const { of(c.from.at, c.key.at, c.value.at, c.to.at); }
    void operator()(RouteCall& c) const { of(c.logits.at, c.bias, c.chosen, c.weights); }
    void operator()(GroupCall& c) const { of(c.chosen, c.place, c.row, c.first); }
    void operator()(ExpertGemmCall& c) const {
      of(c.codes, c.scales, c.first, c.row, c.a.at, c.out.at);
    }
    void operator()(ExpertAddCall& c) const {
      of(c.x.at, c.chosen, c.weights, c.place, c.first, c.out.at);
    }
  };
  std::visit(Visitor{all}, *call);
}

// All that the call reads and writes, bytes of padding that it writes included. Which pages of keys
// and values it works on lies in the accelerator's memory: they all count as read, or as written.
std::vector<Access> accesses_of(const KernelCall& call);

// Throws Error (kRequest) where the arguments contradict each other or the contract.
void check_call(const KernelCall& call);

}  // namespace hearth
