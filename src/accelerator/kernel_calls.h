// The calls that an accelerator can be asked to compute. Each struct is one contract, that is, a
// family of functions of kernels/. It has the arguments of these functions, with places for
// pointers. A back end has a shader or the like for each contract. Its results have the contract's
// bits.
//
// All calls work on rows of a step. Each row of a matrix of floats begins `stride` floats after the
// row before. A stride of 0 says that all rows are the same one, for example a bias.
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
  uint32_t rows = 0;  // how many rows there is room for
  uint32_t k = 0;     // elements of a row

  bool operator==(const ActRows&) const = default;
};

// The norm of each row (kernels/norm/norm.h). Without `weight` the norm is not multiplied by
// weights; only a layer norm may have a bias.
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

// head_moments of kernels/norm/norm.h, for `heads` heads of every row, which lie side by side. The
// moments of head h are floats 2 h and 2 h + 1 of a row of `out`.
struct HeadMomentsCall {
  FloatRows x = {};
  uint32_t rows = 0, heads = 0, length = 0;  // length: floats of a head
  bool centred = true;
  FloatRows out = {};
};

// norm_by of kernels/norm/norm.h with row_scale_of() of the row's moments. The moments are those of
// `heads` heads of `length` floats; x may have only some of these heads.
struct NormByCall {
  FloatRows x = {}, moments = {};
  Place weight = {};  // [n]
  Place bias = {};    // [n] or none
  uint32_t rows = 0, n = 0;
  uint32_t heads = 0, length = 0;
  float eps = 0;
  FloatRows out = {};  // may be x
};

// Looks up rows of an embedding table, of which a shard has rows [row0, row0 + spec.rows). Row i of
// `out` becomes row rows_of[i] of the table: the floats that unpack_row() gives
// (tensor/pack_spec.h), each times `scale`, rounded once. Where the shard does not have that row,
// row i stays as it was if `keep` is true, and is filled with zeros otherwise. So a table of
// several shards takes one call for each shard, all but the first with `keep`.
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

// The beginnings of the places of experts [expert0, expert0 + experts), as a GroupCall wrote them.
// A call with PlacedRows works on its first rows, as many as these experts have places
// (ExpertGemmCall). It leaves its other rows as they were.
struct PlacedRows {
  Place first = {};  // or none: the call works on all rows
  uint32_t expert0 = 0, experts = 0;
  uint32_t likely_rows = 0;  // of an expert; only predictions of time use it

  explicit operator bool() const { return static_cast<bool>(first); }
};

// Quantises elements [0, n) of rows [0, rows) into rows [0, rows) of `out`
// (kernels/quantize/quantize.h).
struct QuantizeCall {
  FloatRows x = {};
  uint32_t rows = 0, n = 0;  // n: out.k
  ActRows out = {};
  PlacedRows placed = {};
};

// Computes out[row][16 * (panel - panel0) + lane] for rows [0, m), as kernels/gemm/gemm.h says.
struct GemmCall {
  PackSpec spec = {};
  Place codes = {}, scales = {};  // of the shard; 64-byte aligned
  uint32_t panel0 = 0, panels = 0;
  uint32_t block0 = 0, block1 = 0;
  ActRows a = {};
  uint32_t m = 0;
  FloatRows out = {};
  std::vector<uint32_t> cuts = {};  // at most kMaxCuts
};

// Computes out = a + b, or a + (b + c) (kernels/sum/sum.h).
struct AddCall {
  FloatRows a = {}, b = {}, c = {};  // c may be none
  uint32_t rows = 0, n = 0;
  FloatRows out = {};  // may be a, b or c
};

// The activations of kernels/activation/activation.h; gated where `up` is given.
enum class GateKind : uint8_t { kSilu, kGelu, kGeluTanh };
struct GateCall {
  GateKind kind = GateKind::kSilu;
  FloatRows x = {};
  Place bias = {};    // [n] or none; for GELU alone
  FloatRows up = {};  // for GELU: or none
  uint32_t rows = 0, n = 0;
  FloatRows out = {};  // may be x or up
  PlacedRows placed = {};
};

// Rotates `heads` heads of every row in place (kernels/rope/rope.h). Each begins `head_stride`
// floats after the one before. Row i's angles are cos[i][n_rot / 2] and sin[i][n_rot / 2].
struct RopeCall {
  FloatRows x = {};
  uint32_t rows = 0, heads = 0;
  uint32_t head_stride = 0;  // floats, at least n_rot
  Place cos = {}, sin = {};
  uint32_t n_rot = 0;
  RopeLayout layout = RopeLayout::kHalf;
};

// Attention in f32 where the step has all keys and values (kernels/attention/attention.h). A row
// sees the positions [first, last] of its text; `position` is its own. Position 0 of the text is
// row `text` of k and v. Query head h reads key head h / group.
struct AttendCall {
  FloatRows q = {}, k = {}, v = {};  // heads side by side, without padding
  Place rows_of = {};                // [rows]: AttendRow
  uint32_t rows = 0;
  uint32_t step_rows = 0;  // rows of k and v
  uint32_t heads = 0, group = 1;
  uint32_t key_length = 0, value_length = 0;
  float scale = 1;
  Place slopes = {};  // [heads], for ALiBi, or none
  FloatRows out = {};
};
struct AttendRow {
  uint32_t text, position, first, last;
};

// Pages of one layer's keys and values in the layout of kernels/attention/attention.h. Page i
// begins i * stride bytes after `at`. A page has `heads` heads, one after another; each has a half
// of keys and a half of values.
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

// kv_store of kernels/attention/attention.h: stores keys and values of rows, heads side by side
// without padding. Slots of a page that the call does not store stay as they were.
struct KvStoreCall {
  FloatRows k = {}, v = {};
  Place slots = {};  // [rows]: uint32_t, page * 64 + slot; all are different
  uint32_t rows = 0;
  KvPages pages = {};
};

// attend of kernels/attention/attention.h over pages. A row sees the positions [first, last] of its
// text, whose position p is in page first_page + p / 64. Key head `kv_head0` + h / group serves
// query head h.
struct PagedAttendCall {
  FloatRows q = {};    // heads side by side, without padding
  Place rows_of = {};  // [rows]: PagedRow
  uint32_t rows = 0;
  uint32_t positions = 0;  // the most positions that a row sees
  uint64_t seen = 0;       // positions of all rows together; only predictions of time use it
  uint32_t heads = 0, group = 1, kv_head0 = 0;
  float scale = 1;
  KvPages pages = {};
  FloatRows out = {};
};
// A page number is taken modulo 2^32, so first_page may be below 0. A page that no row sees need
// not exist.
struct PagedRow {
  uint32_t first_page, first, last, zero;
};

// Pages of one layer's latents in the layout of kernels/attention/latent.h. Page i begins i *
// stride bytes after `at`, with `copies` equal copies one after another.
struct LatentPages {
  Place at = {};        // 64-byte aligned
  uint64_t stride = 0;  // bytes, a multiple of 64
  uint32_t count = 0;
  KvType type = KvType::kF32;
  uint32_t copies = 1;
  uint32_t length = 0;  // of a position: its latent, then the rotated part

  uint64_t copy_bytes() const { return kv_half_bytes(type, length); }
};

// store_latent of kernels/attention/latent.h, into every copy. Slots of a page that the call does
// not store stay as they were.
struct LatentStoreCall {
  FloatRows x = {};  // [rows][pages.length]
  Place slots = {};  // as in KvStoreCall
  uint32_t rows = 0;
  LatentPages pages = {};
};

// attend_latent of kernels/attention/latent.h over the first copy of the pages. Rows see positions
// as in a PagedAttendCall, but always from position 0 on. A head's query has two parts:
// kv_lora_rank floats in `q`, for the latents, and the rest of pages.length floats in `q_rope`, for
// the rotated parts.
struct LatentAttendCall {
  FloatRows q = {}, q_rope = {};
  uint32_t q_head = 0, rope_head = 0;  // floats from head to head
  Place rows_of = {};                  // [rows]: PagedRow
  uint32_t rows = 0;
  uint32_t positions = 0;  // the most positions that a row sees
  uint64_t seen = 0;       // positions of all rows together; only predictions of time use it
  uint32_t heads = 0;
  uint32_t kv_lora_rank = 0;
  float scale = 1;
  LatentPages pages = {};
  FloatRows out = {};  // [rows][heads][kv_lora_rank]

  uint32_t rope_length() const { return pages.length - kv_lora_rank; }
};

// expand_latent of kernels/attention/latent.h: makes keys and values of some heads at the first
// `positions` positions of pages of latents. It writes them to pages of keys and values in f32. A
// PagedAttendCall then reads these, since attend_expanded has the arithmetic of attend_f32. Later
// positions of these pages stay as they were.
struct LatentExpandCall {
  LatentPages from = {};
  uint32_t positions = 0;  // `from` and `to` have pages for all of them
  uint32_t kv_lora_rank = 0;
  // The matrices of the heads. Row kv_lora_rank * h + i of `key` says how latent element i adds to
  // head h's key, without the key's rotated elements. Row value_length * h + e of `value` gives
  // element e of head h's value.
  FloatRows key = {}, value = {};
  KvPages to = {};  // has the lengths and the number of the heads

  uint32_t nope_length() const { return to.key_length - (from.length - kv_lora_rank); }
};

// choose_experts of kernels/routing/routing.h for rows of a router's logits.
struct RouteCall {
  RouterRule rule = {};
  FloatRows logits = {};  // [rows][rule.experts]
  Place bias = {};        // [rule.experts] or none
  uint32_t rows = 0;
  Place chosen = {};   // [rows][rule.used]: uint32_t, ascending
  Place weights = {};  // [rows][rule.used]
};

// group_by_expert of kernels/routing/routing.h. It sorts the choices of all rows by expert, and
// writes the place of every choice, the row of every place, and the first place of every expert.
// The choices of a row are all different.
struct GroupCall {
  Place chosen = {};  // [rows][used]: uint32_t below `experts`
  uint32_t rows = 0, used = 0, experts = 0;
  Place place = {};  // [rows][used]: uint32_t, like the next two
  Place row = {};    // [rows * used]
  Place first = {};  // [experts + 1]

  uint64_t choices() const { return uint64_t{rows} * used; }
};

// Multiplies the rows of experts [expert0, expert0 + experts) by the experts' matrices. A GroupCall
// placed the rows: expert e has places [first[e], first[e + 1]). Here places are counted from
// first[expert0], which counts as place 0. Without `row`, place i takes row i of `a`; with `row`,
// it takes row row[first[expert0] + i] of `a`. The result is row i of `out`.
struct ExpertGemmCall {
  PackSpec spec = {};                            // the same for each expert
  Place codes = {}, scales = {};                 // of expert0; 64-byte aligned
  uint64_t codes_stride = 0, scales_stride = 0;  // bytes from expert to expert, multiples of 64
  uint32_t expert0 = 0, experts = 1;
  uint32_t choices = 0;  // all choices of the GroupCall
  Place first = {};
  Place row = {};  // or none
  ActRows a = {};
  uint32_t likely_rows = 1;  // of an expert; only predictions and sizes of dispatches use it
  uint32_t room = 0;         // rows of `out`, at least the number of places
  FloatRows out = {};        // [room][16 * panels]

  // Returns the product of expert expert0 + i with likely_rows rows, from the first row of `a` on.
  GemmCall product(uint32_t i) const;
};

// Adds the results of experts [expert0, expert0 + experts) to the rows' sums, each as one more term
// of weighted_sum of kernels/sum/sum.h. Experts are taken in ascending order, and x[i] belongs to
// place i of an ExpertGemmCall. A row that chose none of these experts keeps its sum.
struct ExpertAddCall {
  FloatRows x = {};                                         // [room][n]
  uint32_t room = 0;                                        // at least the number of places
  Place chosen = {}, weights = {}, place = {}, first = {};  // from a RouteCall and a GroupCall
  uint32_t rows = 0, used = 0;
  uint32_t expert0 = 0, experts = 1;
  uint32_t likely_rows = 1;  // as in ExpertGemmCall
  uint32_t n = 0;
  // Whether this call begins the sums: they count as -0 before it. Adding to -0 gives the added
  // number unchanged.
  bool begins = false;
  FloatRows out = {};  // [rows][n]
};

using KernelCall =
    std::variant<NormCall, HeadMomentsCall, NormByCall, TableCall, QuantizeCall, GemmCall, AddCall,
                 GateCall, RopeCall, AttendCall, KvStoreCall, PagedAttendCall, LatentStoreCall,
                 LatentAttendCall, LatentExpandCall, RouteCall, GroupCall, ExpertGemmCall,
                 ExpertAddCall>;

// Returns the contract's name, such as "gemm q4_k" or "layer norm". Variants with shaders of their
// own have different names.
std::string contract_name(const KernelCall& call);

// Calls `visit` with every place of the call, empty ones included.
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
      of(c.q.at, c.q_rope.at, c.rows_of, c.pages.at, c.out.at);
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

// Returns all that the call reads and writes, with the padding that it writes. The numbers of the
// KV pages that it uses lie in the accelerator's memory. So all pages count as read, or as written.
std::vector<Access> accesses_of(const KernelCall& call);

// Throws Error (kRequest) where the arguments contradict each other or the contract.
void check_call(const KernelCall& call);

}  // namespace hearth
