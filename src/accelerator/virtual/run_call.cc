#include "accelerator/virtual/run_call.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <span>
#include <vector>

#include "base/error.h"
#include "kernels/attention/attention_kernels.h"
#include "kernels/kernels.h"

namespace hearth {
namespace {

struct alignas(64) Line {
  std::byte bytes[64];
};

class Scratch {
 public:
  explicit Scratch(size_t bytes) : lines_((bytes + sizeof(Line) - 1) / sizeof(Line)) {}
  std::byte* data() { return reinterpret_cast<std::byte*>(lines_.data()); }

 private:
  std::vector<Line> lines_;
};

class Runner {
 public:
  explicit Runner(const std::function<std::byte*(const Place&)>& at) : at_(at) {}

  void operator()(const NormCall& call) const;
  void operator()(const HeadMomentsCall& call) const;
  void operator()(const NormByCall& call) const;
  void operator()(const TableCall& call) const;
  void operator()(const QuantizeCall& call) const;
  void operator()(const GemmCall& call) const;
  void operator()(const AddCall& call) const;
  void operator()(const GateCall& call) const;
  void operator()(const RopeCall& call) const;
  void operator()(const AttendCall& call) const;
  void operator()(const KvStoreCall& call) const;
  void operator()(const PagedAttendCall& call) const;
  void operator()(const LatentStoreCall& call) const { run_call(call, at_); }
  void operator()(const LatentAttendCall& call) const { run_call(call, at_); }
  void operator()(const LatentExpandCall& call) const { run_call(call, at_); }
  void operator()(const RouteCall& call) const;
  void operator()(const GroupCall& call) const;
  void operator()(const ExpertGemmCall& call) const;
  void operator()(const ExpertAddCall& call) const;

 private:
  // Returns null for an empty place.
  float* floats(const Place& at) const { return at ? reinterpret_cast<float*>(at_(at)) : nullptr; }
  uint32_t* words(const Place& at) const { return reinterpret_cast<uint32_t*>(at_(at)); }
  float* row(const FloatRows& x, uint64_t i) const {
    return x ? floats(x.at) + x.stride * i : nullptr;
  }
  ActBuffer activations(const ActRows& a) const {
    return act_buffer(a.format, at_(a.at), a.rows, a.k);
  }
  std::span<const uint32_t> places_of(const Place& first, uint32_t expert0, uint32_t experts,
                                      uint32_t room) const;
  // Returns how many of `rows` rows the call works on.
  uint32_t rows_of(const PlacedRows& placed, uint32_t rows) const;
  std::vector<AttendRow> rows_of(const AttendCall& call) const;
  KvPage page_of(const KvPages& pages, uint32_t page, uint32_t head) const;
  std::vector<PagedRow> rows_of(const PagedAttendCall& call) const;

  const std::function<std::byte*(const Place&)>& at_;
  const Kernels& kernels_ = kernels_for(Isa::kReference);
};

void Runner::operator()(const NormCall& call) const {
  // The kernel needs weights. A product with 1 has the bits of the other factor.
  const std::vector<float> ones(call.weight ? 0 : call.n, 1.0f);
  const float* weight = call.weight ? floats(call.weight) : ones.data();
  for (uint32_t i = 0; i < call.rows; ++i) {
    const float* x = row(call.x, i);
    float* out = row(call.out, i);
    if (call.kind == NormCallKind::kRms) {
      kernels_.rms_norm({.x = x, .weight = weight, .n = call.n, .eps = call.eps, .out = out});
    } else {
      kernels_.layer_norm({.x = x,
                           .weight = weight,
                           .bias = floats(call.bias),
                           .n = call.n,
                           .eps = call.eps,
                           .out = out});
    }
  }
}

void Runner::operator()(const HeadMomentsCall& call) const {
  for (uint32_t i = 0; i < call.rows; ++i) {
    for (size_t h = 0; h < call.heads; ++h) {
      HeadMoments moments;
      kernels_.head_moments(
          {row(call.x, i) + h * call.length, call.length, call.centred, &moments});
      row(call.out, i)[2 * h] = moments.mean;
      row(call.out, i)[2 * h + 1] = moments.squares;
    }
  }
}

void Runner::operator()(const NormByCall& call) const {
  for (uint32_t i = 0; i < call.rows; ++i) {
    const float* moments = row(call.moments, i);
    const RowScale scale =
        row_scale_of(call.heads, call.length, call.eps, [&](size_t h) -> HeadMoments {
          return {moments[2 * h], moments[2 * h + 1]};
        });
    kernels_.norm_by({row(call.x, i), floats(call.weight), floats(call.bias), call.n, scale.mean,
                      scale.r, row(call.out, i)});
  }
}

void Runner::operator()(const TableCall& call) const {
  std::vector<uint32_t> rows(call.rows);
  std::memcpy(rows.data(), at_(call.rows_of), rows.size() * sizeof(uint32_t));
  const std::byte* scales = call.scales ? at_(call.scales) : nullptr;
  for (uint32_t i = 0; i < call.rows; ++i) {
    float* out = row(call.out, i);
    // If the row is before the shard's first row, this wraps round to a number that is too large
    // for the shard.
    const uint32_t of_shard = rows[i] - call.row0;
    if (of_shard < call.spec.rows) {
      unpack_row(call.spec, at_(call.codes), scales, of_shard, out);
      for (uint32_t d = 0; d < call.spec.k; ++d) out[d] *= call.scale;
    } else if (!call.keep) {
      std::fill_n(out, call.spec.k, 0.0f);
    }
  }
}

void Runner::operator()(const QuantizeCall& call) const {
  const ActBuffer out = activations(call.out);
  const QuantizeFn quantize = kernels_.quantize[static_cast<size_t>(call.out.format)];
  const uint32_t rows = rows_of(call.placed, call.rows);
  for (uint32_t i = 0; i < rows; ++i) {
    quantize({.x = row(call.x, i), .first = 0, .count = call.n, .out = out, .row = i});
  }
}

void Runner::operator()(const GemmCall& call) const {
  Scratch scratch(kGemmScratchBytes);
  const std::byte* scales = call.scales ? at_(call.scales) : nullptr;
  kernels_.gemm[static_cast<size_t>(call.spec.kind)](
      {.w = weight_view(call.spec, at_(call.codes), scales),
       .panel0 = call.panel0,
       .panels = call.panels,
       .block0 = call.block0,
       .block1 = call.block1,
       .a = act_view(activations(call.a)),
       .m = call.m,
       .out = floats(call.out.at),
       .out_stride = call.out.stride,
       .scratch = scratch.data(),
       .cuts = call.cuts});
}

void Runner::operator()(const AddCall& call) const {
  for (uint32_t i = 0; i < call.rows; ++i) {
    kernels_.add_vectors({.a = row(call.a, i),
                          .b = row(call.b, i),
                          .c = row(call.c, i),
                          .n = call.n,
                          .out = row(call.out, i)});
  }
}

void Runner::operator()(const GateCall& call) const {
  const float* bias = floats(call.bias);
  const uint32_t rows = rows_of(call.placed, call.rows);
  for (uint32_t i = 0; i < rows; ++i) {
    const float* x = row(call.x, i);
    const float* up = row(call.up, i);
    float* out = row(call.out, i);
    if (call.kind == GateKind::kSilu) {
      kernels_.silu_mul({.gate = x, .up = up, .n = call.n, .out = out});
      continue;
    }
    const auto gelu = call.kind == GateKind::kGelu ? kernels_.gelu : kernels_.gelu_tanh;
    gelu({.x = x, .bias = bias, .up = up, .n = call.n, .out = out});
  }
}

void Runner::operator()(const RopeCall& call) const {
  const uint64_t angles = call.n_rot / 2;
  const float* cos = floats(call.cos);
  const float* sin = floats(call.sin);
  for (uint64_t i = 0; i < call.rows; ++i) {
    for (uint64_t head = 0; head < call.heads; ++head) {
      kernels_.rope({.x = row(call.x, i) + head * call.head_stride,
                     .cos = cos + i * angles,
                     .sin = sin + i * angles,
                     .n_rot = call.n_rot,
                     .layout = call.layout});
    }
  }
}

// The pages of one key head of one text.
class Pages {
 public:
  Pages(const AttendCall& call, uint32_t positions)
      : key_bytes_(kv_half_bytes(KvType::kF32, call.key_length)),
        page_bytes_(key_bytes_ + kv_half_bytes(KvType::kF32, call.value_length)),
        memory_(page_bytes_ * pages_for(positions)),
        pages_(pages_for(positions)) {
    for (size_t i = 0; i < pages_.size(); ++i) {
      std::byte* page = memory_.data() + i * page_bytes_;
      pages_[i] = {.k = page, .v = page + key_bytes_};
    }
  }

  const KvPage& of(uint32_t position) const { return pages_[position / kPagePositions]; }
  const KvPage* data() const { return pages_.data(); }

 private:
  size_t key_bytes_, page_bytes_;
  Scratch memory_;
  std::vector<KvPage> pages_;
};

std::vector<AttendRow> Runner::rows_of(const AttendCall& call) const {
  std::vector<AttendRow> rows(call.rows);
  std::memcpy(rows.data(), at_(call.rows_of), rows.size() * sizeof(AttendRow));
  for (const AttendRow& row : rows) {
    if (row.first <= row.last && row.text < call.step_rows &&
        row.last < call.step_rows - row.text) {
      continue;
    }
    fail(ErrorCode::kRequest,
         "a row of attention cannot see rows {} to {} of the text at row {}: the step has {} rows",
         row.first, row.last, row.text, call.step_rows);
  }
  return rows;
}

void Runner::operator()(const AttendCall& call) const {
  const std::vector<AttendRow> rows = rows_of(call);
  std::map<uint32_t, uint32_t> lengths;  // by text: how many positions rows see
  for (const AttendRow& row : rows) {
    uint32_t& length = lengths[row.text];
    length = std::max(length, row.last + 1);
  }
  Scratch scratch(kAttendScratchBytes);
  const float* slopes = floats(call.slopes);
  const size_t nowhere = 0;
  for (uint32_t kv_head = 0; kv_head < call.heads / call.group; ++kv_head) {
    for (const auto& [text, length] : lengths) {
      Pages pages(call, length);
      for (uint32_t i = 0; i < length; ++i) {
        const uint64_t at = uint64_t{text} + i;
        kv_store_f32_reference({.k = row(call.k, at) + size_t{kv_head} * call.key_length,
                                .v = row(call.v, at) + size_t{kv_head} * call.value_length,
                                .key_length = call.key_length,
                                .value_length = call.value_length,
                                .page = pages.of(i),
                                .slot = i % kPagePositions});
      }
      for (uint32_t i = 0; i < call.rows; ++i) {
        if (rows[i].text != text) continue;
        for (uint32_t head = kv_head * call.group; head < (kv_head + 1) * call.group; ++head) {
          attend_f32_reference({.q = row(call.q, i) + size_t{head} * call.key_length,
                                .q_offset = &nowhere,
                                .last = &rows[i].last,
                                .rows = 1,
                                .window = rows[i].last - rows[i].first + 1,
                                .pages = pages.data(),
                                .key_length = call.key_length,
                                .value_length = call.value_length,
                                .scale = call.scale,
                                .out = row(call.out, i) + size_t{head} * call.value_length,
                                .out_offset = &nowhere,
                                .scratch = scratch.data(),
                                .slope = slopes == nullptr ? nullptr : slopes + head,
                                .position = slopes == nullptr ? nullptr : &rows[i].position});
        }
      }
    }
  }
}

KvPage Runner::page_of(const KvPages& pages, uint32_t page, uint32_t head) const {
  std::byte* k = at_(pages.at) + page * pages.stride + head * pages.head_bytes();
  return {.k = k, .v = k + kv_half_bytes(pages.type, pages.key_length)};
}

void Runner::operator()(const KvStoreCall& call) const {
  const KvPages& pages = call.pages;
  std::vector<uint32_t> slots(call.rows);
  std::memcpy(slots.data(), at_(call.slots), slots.size() * sizeof(uint32_t));
  for (uint32_t i = 0; i < call.rows; ++i) {
    const uint32_t page = slots[i] / kPagePositions;
    if (page >= pages.count) {
      fail(ErrorCode::kRequest, "a row cannot be stored in page {}: there are {} pages", page,
           pages.count);
    }
    for (uint32_t head = 0; head < pages.heads; ++head) {
      kernels_.kv_store[static_cast<size_t>(pages.type)](
          {.k = row(call.k, i) + size_t{head} * pages.key_length,
           .v = row(call.v, i) + size_t{head} * pages.value_length,
           .key_length = pages.key_length,
           .value_length = pages.value_length,
           .page = page_of(pages, page, head),
           .slot = slots[i] % kPagePositions});
    }
  }
}

std::vector<PagedRow> Runner::rows_of(const PagedAttendCall& call) const {
  std::vector<PagedRow> rows(call.rows);
  std::memcpy(rows.data(), at_(call.rows_of), rows.size() * sizeof(PagedRow));
  const uint32_t count = call.pages.count;
  for (const PagedRow& row : rows) {
    if (row.first > row.last || row.last - row.first >= call.positions) {
      fail(ErrorCode::kRequest,
           "a row of attention sees positions {} to {}; it must see 1 to {} positions", row.first,
           row.last, call.positions);
    }
    const uint32_t page = row.first_page + row.first / kPagePositions;
    const uint32_t more = row.last / kPagePositions - row.first / kPagePositions;
    if (page >= count || more >= count - page) {
      fail(ErrorCode::kRequest,
           "a row of attention cannot see page {} and the {} after it: there are {} pages", page,
           more, count);
    }
  }
  return rows;
}

void Runner::operator()(const PagedAttendCall& call) const {
  const KvPages& pages = call.pages;
  const std::vector<PagedRow> rows = rows_of(call);
  Scratch scratch(kAttendScratchBytes);
  const size_t nowhere = 0;
  for (uint32_t i = 0; i < call.rows; ++i) {
    const auto& [first_page, first, last, zero] = rows[i];
    // Entries before the first page that the row sees stay null.
    std::vector<KvPage> seen(last / kPagePositions + 1);
    for (uint32_t head = 0; head < call.heads; ++head) {
      for (uint32_t page = first / kPagePositions; page < seen.size(); ++page) {
        seen[page] = page_of(pages, first_page + page, call.kv_head0 + head / call.group);
      }
      kernels_.attend[static_cast<size_t>(pages.type)](
          {.q = row(call.q, i) + size_t{head} * pages.key_length,
           .q_offset = &nowhere,
           .last = &rows[i].last,
           .rows = 1,
           .window = last - first + 1,
           .pages = seen.data(),
           .key_length = pages.key_length,
           .value_length = pages.value_length,
           .scale = call.scale,
           .out = row(call.out, i) + size_t{head} * pages.value_length,
           .out_offset = &nowhere,
           .scratch = scratch.data()});
    }
  }
}

void Runner::operator()(const RouteCall& call) const {
  const uint64_t used = call.rule.used;
  std::vector<float> scratch(uint64_t{2} * call.rule.experts + call.rule.groups);
  for (uint32_t i = 0; i < call.rows; ++i) {
    choose_experts(call.rule, row(call.logits, i), floats(call.bias), scratch.data(),
                   words(call.chosen) + i * used, floats(call.weights) + i * used);
  }
}

void Runner::operator()(const GroupCall& call) const {
  uint32_t* chosen = words(call.chosen);
  for (uint64_t i = 0; i < call.choices(); ++i) {
    if (chosen[i] < call.experts) continue;
    fail(ErrorCode::kRequest, "a row cannot choose expert {}: there are {} experts", chosen[i],
         call.experts);
  }
  group_by_expert({.rows = call.rows,
                   .used = call.used,
                   .experts = call.experts,
                   .chosen = chosen,
                   .weights = nullptr,
                   .place = words(call.place),
                   .row = words(call.row),
                   .first = words(call.first),
                   .shared = nullptr});
}

// Returns the first place of each of the experts, and the end of the last one's places.
std::span<const uint32_t> Runner::places_of(const Place& first, uint32_t expert0, uint32_t experts,
                                            uint32_t room) const {
  const std::span<const uint32_t> all(words(first) + expert0, size_t{experts} + 1);
  if (!std::ranges::is_sorted(all) || all.back() - all.front() > room) {
    fail(ErrorCode::kRequest,
         "experts have places {} to {}; they must ascend, and there is room for {}", all.front(),
         all.back(), room);
  }
  return all;
}

uint32_t Runner::rows_of(const PlacedRows& placed, uint32_t rows) const {
  if (!placed) return rows;
  const auto first = places_of(placed.first, placed.expert0, placed.experts, rows);
  return first.back() - first.front();
}

void Runner::operator()(const ExpertGemmCall& call) const {
  const auto first = places_of(call.first, call.expert0, call.experts, call.room);
  const ActView from = act_view(activations(call.a));
  for (uint32_t e = 0; e < call.experts; ++e) {
    const uint32_t begin = first[e], rows = first[e + 1] - begin;
    if (rows == 0) continue;
    Scratch memory(act_bytes(call.a.format, rows, call.a.k));
    const ActBuffer own = act_buffer(call.a.format, memory.data(), rows, call.a.k);
    for (uint32_t i = 0; i < rows; ++i) {
      const uint32_t of = call.row ? words(call.row)[begin + i] : begin - first[0] + i;
      if (of >= call.a.rows) {
        fail(ErrorCode::kRequest, "an expert cannot take row {}: there are {} rows", of,
             call.a.rows);
      }
      copy_act_row(call.a.format, from, of, own, i);
    }
    Scratch scratch(kGemmScratchBytes);
    const GemmCall product = call.product(e);
    const std::byte* scales = product.scales ? at_(product.scales) : nullptr;
    kernels_.gemm[static_cast<size_t>(call.spec.kind)](
        {.w = weight_view(call.spec, at_(product.codes), scales),
         .panel0 = 0,
         .panels = product.panels,
         .block0 = 0,
         .block1 = product.block1,
         .a = act_view(own),
         .m = rows,
         .out = row(call.out, begin - first[0]),
         .out_stride = call.out.stride,
         .scratch = scratch.data()});
  }
}

void Runner::operator()(const ExpertAddCall& call) const {
  const auto first = places_of(call.first, call.expert0, call.experts, call.room);
  for (uint64_t r = 0; r < call.rows; ++r) {
    float* sums = row(call.out, r);
    if (call.begins) std::fill_n(sums, call.n, -0.0f);
    for (uint64_t i = r * call.used; i < (r + 1) * call.used; ++i) {
      if (words(call.chosen)[i] - call.expert0 >= call.experts) continue;
      const uint32_t place = words(call.place)[i] - first[0];
      if (place >= call.room) {
        fail(ErrorCode::kRequest, "a row cannot lie at place {}: there are {} places", place,
             call.room);
      }
      const float weight = floats(call.weights)[i];
      const float* x = row(call.x, place);
      for (uint32_t d = 0; d < call.n; ++d) sums[d] = std::fma(weight, x[d], sums[d]);
    }
  }
}

}  // namespace

void run_call(const KernelCall& call, const std::function<std::byte*(const Place&)>& at) {
  std::visit(Runner(at), call);
}

}  // namespace hearth
