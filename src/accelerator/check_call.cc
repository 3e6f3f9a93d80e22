// Implements check_call(). Each function checks the calls of one contract.
#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>

#include "accelerator/kernel_calls.h"
#include "base/error.h"
#include "kernels/attention/attention.h"

namespace hearth {
namespace {

constexpr uint64_t kMaxStride = uint64_t{1} << 40;  // floats
// Integers up to this are exact in binary32.
constexpr uint64_t kMaxHeadFloats = uint64_t{1} << 24;

class Checker {
 public:
  explicit Checker(const KernelCall& call) : call_(call) {}

  void operator()(const NormCall& call) const {
    need_size(call.rows, call.n);
    need_input(call.x, call.n, "x");
    need_aligned(call.weight, 4, "the weight");
    need_aligned(call.bias, 4, "the bias");
    need(call.kind == NormCallKind::kLayer || !call.bias, "only a layer norm has a bias");
    need_eps(call.eps);
    need_output(call.out, call.rows, call.n);
    need_memory(true);
  }
  void operator()(const HeadMomentsCall& call) const {
    need_size(call.rows, need_heads(call.heads, call.length));
    need_input(call.x, uint64_t{call.heads} * call.length, "x");
    need_output(call.out, call.rows, uint64_t{2} * call.heads);
    need_memory(false);
  }
  void operator()(const NormByCall& call) const {
    need_size(call.rows, call.n);
    const uint64_t all = need_heads(call.heads, call.length);
    if (call.n > all || call.n % call.length != 0) {
      refuse("{} floats are not {} heads of {}", call.n, call.heads, call.length);
    }
    need_input(call.x, call.n, "x");
    need_input(call.moments, uint64_t{2} * call.heads, "moments");
    need(static_cast<bool>(call.weight), "there is no weight");
    need_aligned(call.weight, 4, "the weight");
    need_aligned(call.bias, 4, "the bias");
    need_eps(call.eps);
    need_output(call.out, call.rows, call.n);
    need_memory(true);
  }
  void operator()(const TableCall& call) const;
  void operator()(const QuantizeCall& call) const {
    need_size(call.rows, call.n);
    need_input(call.x, call.n, "x");
    need_activations(call.out, call.rows);
    need(call.n == call.out.k, "n is not the length of the rows that it writes");
    need_placed(call.placed);
    need_memory(false);
  }
  void operator()(const GemmCall& call) const;
  void operator()(const AddCall& call) const {
    need_size(call.rows, call.n);
    need_input(call.a, call.n, "a");
    need_input(call.b, call.n, "b");
    if (call.c) need_input(call.c, call.n, "c");
    need_output(call.out, call.rows, call.n);
    need_memory(true);
  }
  void operator()(const GateCall& call) const {
    need_size(call.rows, call.n);
    need_input(call.x, call.n, "x");
    need_aligned(call.bias, 4, "the bias");
    need(call.kind != GateKind::kSilu || call.up, "silu needs `up`, and there is none");
    need(call.kind != GateKind::kSilu || !call.bias, "silu has no bias");
    if (call.up) need_input(call.up, call.n, "up");
    need_output(call.out, call.rows, call.n);
    need_placed(call.placed);
    need_memory(true);
  }
  void operator()(const RopeCall& call) const {
    need_size(call.rows, call.heads);
    need(call.n_rot > 0 && call.n_rot % 2 == 0, "n_rot must be even and above 0");
    need(call.head_stride >= call.n_rot, "heads overlap");
    need_output(call.x, call.rows, uint64_t{call.heads - 1} * call.head_stride + call.n_rot);
    for (const Place& angles : {call.cos, call.sin}) {
      need(static_cast<bool>(angles), "it has no angles");
      need_aligned(angles, 4, "an angle");
    }
    need_memory(true);
  }
  void operator()(const AttendCall& call) const;
  void operator()(const KvStoreCall& call) const;
  void operator()(const PagedAttendCall& call) const;
  void operator()(const LatentStoreCall& call) const;
  void operator()(const LatentAttendCall& call) const;
  void operator()(const LatentExpandCall& call) const;
  void operator()(const RouteCall& call) const;
  void operator()(const GroupCall& call) const;
  void operator()(const ExpertGemmCall& call) const;
  void operator()(const ExpertAddCall& call) const;

 private:
  template <typename... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> why, Args&&... args) const {
    fail(ErrorCode::kRequest, "{} cannot be called like this: {}", contract_name(call_),
         fmt::format(why, std::forward<Args>(args)...));
  }
  void need(bool holds, std::string_view else_why) const {
    if (!holds) refuse("{}", else_why);
  }
  void need_size(uint64_t rows, uint64_t n) const {
    need(rows > 0 && n > 0, "there is nothing to do");
  }
  void need_eps(float eps) const {
    need(std::isfinite(eps) && eps >= 0, "eps must be a number from 0 up");
  }
  // Returns how many floats all heads of a row have together.
  uint64_t need_heads(uint32_t heads, uint32_t length) const {
    need(heads > 0 && length > 0, "there are no heads");
    const uint64_t all = uint64_t{heads} * length;
    need(all <= kMaxHeadFloats, "its heads have more floats than 2^24");
    return all;
  }
  void need_shard(const PackSpec& spec, const Place& codes, const Place& scales) const {
    const bool grouped = pack_kind_info(spec.kind).grouped;
    need(spec.rows > 0 && spec.k > 0, "the shard has no elements");
    need(spec.k_origin % kBlock == 0, "the shard does not begin with a block");
    need(!grouped || spec.form.group_blocks > 0, "the shard's groups have no blocks");
    need(static_cast<bool>(codes), "there are no codes");
    need(scales || spec.scales_panel_bytes() == 0, "there are no scales");
    need_aligned(codes, 64, "the first code");
    need_aligned(scales, 64, "the first scale");
  }
  void need_aligned(const Place& at, uint64_t alignment, std::string_view what) const {
    if (!at || at.offset % alignment == 0) return;
    refuse("{} is at {}, which is not a multiple of {}", what, at.offset, alignment);
  }
  // Checks rows that the call reads. They must not overlap, but a stride of 0 is allowed: it says
  // that all rows are the same one.
  void need_input(const FloatRows& x, uint64_t n, std::string_view what) const {
    if (!x) refuse("there is no {}", what);
    need_aligned(x.at, 4, what);
    if (x.stride > kMaxStride) refuse("the rows of {} are too far apart", what);
    if (x.stride != 0 && x.stride < n) refuse("the rows of {} overlap", what);
  }
  void need_output(const FloatRows& out, uint64_t rows, uint64_t n) const {
    need_input(out, n, "output");
    need(rows == 1 || out.stride != 0, "all rows of the output lie in one place");
  }
  void need_head(uint32_t length) const {
    if (length == 0 || length > kMaxHeadDim) refuse("a head cannot have {} elements", length);
  }
  void need_page_places(const Place& at, uint64_t stride, uint32_t count) const {
    need(static_cast<bool>(at) && count > 0, "there are no pages");
    need_aligned(at, 64, "the first page");
    need(stride % 64 == 0, "the stride of pages is not a multiple of 64");
    need(count <= UINT32_MAX / kPagePositions, "there are more pages than can be numbered");
    need(stride <= kMaxBufferBytes, "pages are too far apart");
  }
  void need_pages(const KvPages& pages) const {
    need_page_places(pages.at, pages.stride, pages.count);
    need(pages.heads > 0, "pages have no heads");
    for (uint32_t length : {pages.key_length, pages.value_length}) need_head(length);
    if (pages.stride / pages.heads < pages.head_bytes()) {
      refuse("{} heads of {} bytes do not fit into pages of {}", pages.heads, pages.head_bytes(),
             pages.stride);
    }
  }
  void need_pages(const LatentPages& pages, uint32_t kv_lora_rank) const {
    need_page_places(pages.at, pages.stride, pages.count);
    need(pages.copies > 0, "there are no copies");
    if (pages.length == 0 || pages.length > kMaxLatentKey || kv_lora_rank == 0 ||
        kv_lora_rank > kMaxLatentValue || kv_lora_rank > pages.length) {
      refuse("a latent of {} elements in rows of {} is not possible", kv_lora_rank, pages.length);
    }
    if (pages.stride / pages.copies < pages.copy_bytes()) {
      refuse("{} copies of {} bytes do not fit into pages of {}", pages.copies, pages.copy_bytes(),
             pages.stride);
    }
  }
  // Checks a place of 32-bit numbers.
  void need_words(const Place& at, std::string_view what) const {
    if (!at) refuse("there is no place for {}", what);
    need_aligned(at, 4, what);
  }
  void need_choice(uint32_t used, uint32_t experts) const {
    if (experts == 0 || experts > kMaxExperts || used == 0 || used > kMaxChosen || used > experts) {
      refuse("{} of {} experts cannot be chosen", used, experts);
    }
  }
  void need_placed(const PlacedRows& placed) const {
    if (!placed) return;
    need_aligned(placed.first, 4, "the first places");
    need_experts(placed.expert0, placed.experts);
  }
  void need_experts(uint32_t expert0, uint32_t experts) const {
    if (experts > 0 && experts <= kMaxExperts && expert0 <= kMaxExperts - experts) return;
    refuse("there are no {} experts from {} on", experts, expert0);
  }
  void need_activations(const ActRows& a, uint32_t rows) const {
    need(static_cast<bool>(a.at), "there are no activations");
    need_aligned(a.at, 64, "activations");
    if (a.rows < rows) refuse("{} rows do not fit into activations of {}", rows, a.rows);
  }
  // Checks that all accesses lie within the longest buffer, and that no byte is both read and
  // written. With `in_place`, a result may have exactly the rows of an input.
  void need_memory(bool in_place) const {
    const std::vector<Access> all = accesses_of(call_);
    for (const Access& access : all) {
      need(end_of(access) <= kMaxBufferBytes, "it reaches beyond the end of memory");
    }
    for (const Access& write : all) {
      if (!write.writes) continue;
      for (const Access& read : all) {
        if (read.writes || !overlap(read, write)) continue;
        Access same = read;
        same.writes = true;
        need(in_place && same == write, "it overwrites what it reads");
      }
    }
  }

  const KernelCall& call_;
};

void Checker::operator()(const GemmCall& call) const {
  const PackSpec& spec = call.spec;
  need_size(call.m, call.panels);
  need_shard(spec, call.codes, call.scales);
  if (call.panels > spec.panels() || call.panel0 > spec.panels() - call.panels) {
    refuse("the shard has {} panels, fewer than {} and {}", spec.panels(), call.panel0,
           call.panels);
  }
  if (call.block0 >= call.block1 || call.block1 > spec.blocks()) {
    refuse("blocks [{}, {}) are outside the shard's {}", call.block0, call.block1, spec.blocks());
  }
  need_activations(call.a, call.m);
  need(call.a.format == act_format_for(spec.kind), "activations are in another format");
  need(call.a.k > (call.block1 - 1) * uint64_t{kBlock}, "activations are shorter than the blocks");
  need_output(call.out, call.m, uint64_t{call.panels} * kPanelRows);
  need(call.out.stride % kPanelRows == 0, "the output's stride is not a multiple of 16");
  need(call.cuts.size() <= kMaxCuts, "there are more cuts than 7");
  uint32_t last = call.block0;
  for (uint32_t cut : call.cuts) {
    need(cut > last && cut < call.block1, "cuts do not ascend within the blocks");
    last = cut;
  }
  need_memory(false);
}

void Checker::operator()(const TableCall& call) const {
  need_size(call.rows, call.spec.rows);
  need_shard(call.spec, call.codes, call.scales);
  need(static_cast<bool>(call.rows_of), "nothing says which rows");
  need_aligned(call.rows_of, 4, "which rows");
  need(std::isfinite(call.scale), "the scale is not a number");
  need_output(call.out, call.rows, call.spec.k);
  need_memory(call.keep);
}

void Checker::operator()(const AttendCall& call) const {
  need_size(call.rows, call.heads);
  need(call.step_rows > 0, "there are no keys");
  need(call.group > 0 && call.heads % call.group == 0, "heads do not share keys evenly");
  for (uint32_t length : {call.key_length, call.value_length}) need_head(length);
  need(std::isfinite(call.scale), "the scale is not a number");
  const uint64_t heads = call.heads, kv_heads = heads / call.group;
  need_input(call.q, heads * call.key_length, "q");
  need_input(call.k, kv_heads * call.key_length, "k");
  need_input(call.v, kv_heads * call.value_length, "v");
  for (const FloatRows* x : {&call.k, &call.v}) {
    need(call.step_rows == 1 || x->stride != 0, "all keys or values lie in one place");
  }
  need(static_cast<bool>(call.rows_of), "nothing says what rows see");
  need_aligned(call.rows_of, 4, "what rows see");
  need_aligned(call.slopes, 4, "the first slope");
  need_output(call.out, call.rows, heads * call.value_length);
  need_memory(false);
}

void Checker::operator()(const KvStoreCall& call) const {
  need_size(call.rows, call.pages.heads);
  need_pages(call.pages);
  need_input(call.k, uint64_t{call.pages.heads} * call.pages.key_length, "k");
  need_input(call.v, uint64_t{call.pages.heads} * call.pages.value_length, "v");
  need(static_cast<bool>(call.slots), "nothing says which slots");
  need_aligned(call.slots, 4, "which slots");
  need_memory(false);
}

void Checker::operator()(const PagedAttendCall& call) const {
  need_size(call.rows, call.heads);
  need_pages(call.pages);
  need(call.positions > 0, "rows see nothing");
  need(call.group > 0 && call.heads % call.group == 0, "heads do not share keys evenly");
  const uint32_t kv_heads = call.heads / call.group;
  if (kv_heads > call.pages.heads || call.kv_head0 > call.pages.heads - kv_heads) {
    refuse("pages have {} heads, fewer than {} and {}", call.pages.heads, call.kv_head0, kv_heads);
  }
  need(std::isfinite(call.scale), "the scale is not a number");
  need_input(call.q, uint64_t{call.heads} * call.pages.key_length, "q");
  need(static_cast<bool>(call.rows_of), "nothing says what rows see");
  need_aligned(call.rows_of, 4, "what rows see");
  need_output(call.out, call.rows, uint64_t{call.heads} * call.pages.value_length);
  need_memory(false);
}

void Checker::operator()(const LatentStoreCall& call) const {
  need_size(call.rows, call.pages.copies);
  need_pages(call.pages, 1);
  need_input(call.x, call.pages.length, "x");
  need_words(call.slots, "slots");
  need_memory(false);
}

void Checker::operator()(const LatentAttendCall& call) const {
  need_size(call.rows, call.heads);
  need_pages(call.pages, call.kv_lora_rank);
  need(call.rope_length() > 0, "RoPE rotates nothing");
  need(call.positions > 0, "rows see nothing");
  need(std::isfinite(call.scale), "the scale is not a number");
  need(call.q_head >= call.kv_lora_rank && call.rope_head >= call.rope_length(), "heads overlap");
  const uint64_t others = call.heads - 1;
  need_input(call.q, others * call.q_head + call.kv_lora_rank, "q");
  need_input(call.q_rope, others * call.rope_head + call.rope_length(), "q_rope");
  need_words(call.rows_of, "what rows see");
  need_output(call.out, call.rows, uint64_t{call.heads} * call.kv_lora_rank);
  need_memory(false);
}

void Checker::operator()(const LatentExpandCall& call) const {
  need_size(call.positions, call.to.heads);
  need_pages(call.from, call.kv_lora_rank);
  need_pages(call.to);
  need(call.to.type == KvType::kF32, "keys and values are not made in f32");
  const uint32_t rope_length = call.from.length - call.kv_lora_rank;
  if (call.to.key_length <= rope_length) {
    refuse("a key of {} has nothing before the {} that RoPE rotates", call.to.key_length,
           rope_length);
  }
  const uint32_t pages = pages_for(call.positions);
  if (pages > std::min(call.from.count, call.to.count)) {
    refuse("{} positions have {} pages, and there are {} and {}", call.positions, pages,
           call.from.count, call.to.count);
  }
  const uint64_t rows = uint64_t{call.to.heads} * std::max(call.kv_lora_rank, call.to.value_length);
  need(rows <= UINT32_MAX, "its heads have more elements than can be numbered");
  need_input(call.key, call.nope_length(), "the key's matrix");
  need_input(call.value, call.kv_lora_rank, "the value's matrix");
  need(call.key.stride != 0 && call.value.stride != 0, "all rows of a matrix lie in one place");
  need_memory(false);
}

void Checker::operator()(const RouteCall& call) const {
  const RouterRule& rule = call.rule;
  need_size(call.rows, rule.experts);
  need_choice(rule.used, rule.experts);
  need(rule.groups > 0 && rule.experts % rule.groups == 0, "groups do not divide the experts");
  if (rule.groups_used == 0 || rule.groups_used > rule.groups ||
      rule.experts / rule.groups * rule.groups_used < rule.used) {
    refuse("{} of {} groups do not hold {} experts", rule.groups_used, rule.groups, rule.used);
  }
  need(std::isfinite(rule.scale) && std::isfinite(rule.logit_scale), "a scale is not a number");
  need_input(call.logits, rule.experts, "logits");
  need_aligned(call.bias, 4, "the bias");
  need_words(call.chosen, "the choices");
  need_words(call.weights, "the weights");
  need_memory(false);
}

void Checker::operator()(const GroupCall& call) const {
  need_size(call.rows, call.experts);
  need_choice(call.used, call.experts);
  need_words(call.chosen, "the choices");
  need_words(call.place, "places");
  need_words(call.row, "rows");
  need_words(call.first, "first places");
  need(call.choices() <= UINT32_MAX, "there are more choices than can be numbered");
  need_memory(false);
}

void Checker::operator()(const ExpertGemmCall& call) const {
  const PackSpec& spec = call.spec;
  need_size(call.room, call.experts);
  need_shard(spec, call.codes, call.scales);
  need_experts(call.expert0, call.experts);
  for (const auto& [stride, bytes] : {std::pair(call.codes_stride, spec.codes_bytes()),
                                      std::pair(call.scales_stride, spec.scales_bytes())}) {
    if (call.experts > 1 && stride < bytes) refuse("experts of {} bytes overlap", bytes);
    need(stride % 64 == 0 && stride <= kMaxBufferBytes, "experts are not a multiple of 64 apart");
  }
  need_words(call.first, "the first places");
  need_aligned(call.row, 4, "rows");
  need(call.choices > 0 && call.likely_rows > 0, "no row chooses an expert");
  need(call.a.rows > 0, "there are no activations");
  need_activations(call.a, call.row ? 1 : call.room);
  need(call.a.format == act_format_for(spec.kind), "activations are in another format");
  need(call.a.k >= spec.k, "activations are shorter than the blocks");
  need_output(call.out, call.room, uint64_t{spec.panels()} * kPanelRows);
  need(call.out.stride % kPanelRows == 0, "the output's stride is not a multiple of 16");
  need_memory(false);
}

void Checker::operator()(const ExpertAddCall& call) const {
  need_size(call.rows, call.n);
  need_experts(call.expert0, call.experts);
  need_choice(call.used, kMaxExperts);
  need(call.room > 0, "there are no rows of experts to add");
  need_input(call.x, call.n, "x");
  need_words(call.chosen, "the choices");
  need_words(call.weights, "the weights");
  need_words(call.place, "places");
  need_words(call.first, "the first places");
  need_output(call.out, call.rows, call.n);
  need_memory(!call.begins);
}

}  // namespace

void check_call(const KernelCall& call) { std::visit(Checker(call), call); }

}  // namespace hearth
