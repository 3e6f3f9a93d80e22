#include "accelerator/virtual/test_direct_call.h"

#include <algorithm>
#include <cmath>

#include "base/fp_types.h"
#include "kernels/attention/attention_kernels.h"
#include "kernels/gemm/gemm_kernels.h"
#include "kernels/kernels.h"
#include "kernels/quantize/quantize_kernels.h"

namespace hearth {
namespace {

// Makes the calls directly to the kernels, as kernels/ describes these.
struct Direct {
  RunMemory& memory;

  float* row(const FloatRows& x, size_t i) const {
    return x ? memory.floats(x.at) + i * x.stride : nullptr;
  }
  ActBuffer act(const ActRows& a) const {
    return act_buffer(a.format, memory.at(a.at), a.rows, a.k);
  }

  void operator()(const NormCall& c) const {
    for (size_t i = 0; i < c.rows; ++i) {
      const float* weight = memory.floats(c.weight);
      if (c.kind == NormCallKind::kRms) {
        rms_norm_reference({row(c.x, i), weight, c.n, c.eps, row(c.out, i)});
      } else {
        const float* bias = memory.floats(c.bias);
        layer_norm_reference({row(c.x, i), weight, bias, c.n, c.eps, row(c.out, i)});
      }
    }
  }
  void operator()(const HeadMomentsCall& c) const {
    for (size_t i = 0; i < c.rows; ++i) {
      for (size_t h = 0; h < c.heads; ++h) {
        HeadMoments of_head;
        head_moments_reference({row(c.x, i) + h * c.length, c.length, c.centred, &of_head});
        std::memcpy(row(c.out, i) + 2 * h, &of_head, sizeof of_head);
      }
    }
  }
  void operator()(const NormByCall& c) const {
    for (size_t i = 0; i < c.rows; ++i) {
      std::vector<HeadMoments> moments(c.heads);
      std::memcpy(moments.data(), row(c.moments, i), c.heads * sizeof(HeadMoments));
      const RowScale by =
          row_scale_of(c.heads, c.length, c.eps, [&](uint32_t h) { return moments[h]; });
      norm_by_reference({row(c.x, i), memory.floats(c.weight), memory.floats(c.bias), c.n, by.mean,
                         by.r, row(c.out, i)});
    }
  }
  // Unpacks all rows of the shard, and then picks those that the call asks for.
  void operator()(const TableCall& c) const {
    std::vector<std::vector<float>> shard(c.spec.rows, std::vector<float>(c.spec.k));
    for (uint32_t row = 0; row < c.spec.rows; ++row) {
      unpack_row(c.spec, memory.at(c.codes), memory.at(c.scales), row, shard[row].data());
    }
    for (size_t i = 0; i < c.rows; ++i) {
      uint32_t of_table;
      std::memcpy(&of_table, memory.at(c.rows_of.offset + 4 * i), 4);
      const bool has = of_table >= c.row0 && of_table - c.row0 < c.spec.rows;
      for (size_t d = 0; d < c.spec.k; ++d) {
        if (has) row(c.out, i)[d] = shard[of_table - c.row0][d] * c.scale;
        if (!has && !c.keep) row(c.out, i)[d] = 0;
      }
    }
  }
  void operator()(const QuantizeCall& c) const {
    for (size_t i = 0; i < rows_of(c.placed, c.rows); ++i) {
      const QuantizeArgs args = {row(c.x, i), 0, c.n, act(c.out), i};
      if (c.out.format == ActFormat::kF32) quantize_f32_reference(args);
      if (c.out.format == ActFormat::kBF16) quantize_bf16_reference(args);
      if (c.out.format == ActFormat::kQ8) quantize_q8_reference(args);
    }
  }
  // Computes one row and one panel at a time, so that no chain depends on other rows or panels.
  void operator()(const GemmCall& c) const {
    for (uint32_t i = 0; i < c.m; ++i) {
      GemmCall one = c;
      one.out.at = c.out.at + i * c.out.stride * sizeof(float);
      multiply(one, i);
    }
  }
  // Multiplies row `of` of the activations. The result is the first row of the output.
  void multiply(const GemmCall& c, size_t of) const {
    std::vector<RunLine> scratch(kGemmScratchBytes / sizeof(RunLine));
    for (uint32_t panel = 0; panel < c.panels; ++panel) {
      kernels_for(Isa::kReference)
          .gemm[static_cast<size_t>(c.spec.kind)](
              {.w = weight_view(c.spec, memory.at(c.codes),
                                c.scales ? memory.at(c.scales) : nullptr),
               .panel0 = c.panel0 + panel,
               .panels = 1,
               .block0 = c.block0,
               .block1 = c.block1,
               .a = act_rows(act_view(act(c.a)), of, 0),
               .m = 1,
               .out = row(c.out, 0) + panel * kPanelRows,
               .out_stride = 16,
               .scratch = reinterpret_cast<std::byte*>(scratch.data()),
               .cuts = c.cuts});
    }
  }
  void operator()(const AddCall& c) const {
    for (size_t i = 0; i < c.rows; ++i) {
      add_vectors_reference({row(c.a, i), row(c.b, i), row(c.c, i), c.n, row(c.out, i)});
    }
  }
  void operator()(const GateCall& c) const {
    for (size_t i = 0; i < rows_of(c.placed, c.rows); ++i) {
      const GeluArgs args = {row(c.x, i), memory.floats(c.bias), row(c.up, i), c.n, row(c.out, i)};
      if (c.kind == GateKind::kSilu) silu_mul_reference({args.x, args.up, args.n, args.out});
      if (c.kind == GateKind::kGelu) gelu_reference(args);
      if (c.kind == GateKind::kGeluTanh) gelu_tanh_reference(args);
    }
  }
  void operator()(const RopeCall& c) const {
    for (size_t i = 0; i < c.rows; ++i) {
      for (size_t head = 0; head < c.heads; ++head) {
        const size_t angle = i * c.n_rot / 2;
        rope_reference({row(c.x, i) + head * c.head_stride, memory.floats(c.cos) + angle,
                        memory.floats(c.sin) + angle, c.n_rot, c.layout});
      }
    }
  }
  void operator()(const AttendCall& c) const;
  void operator()(const KvStoreCall& c) const;
  void operator()(const PagedAttendCall& c) const;
  void operator()(const LatentStoreCall& c) const;
  void operator()(const LatentAttendCall& c) const;
  void operator()(const LatentExpandCall& c) const;
  void operator()(const RouteCall& c) const {
    std::vector<float> scratch(2 * c.rule.experts + c.rule.groups);
    for (size_t i = c.rows; i-- > 0;) {
      choose_experts(c.rule, row(c.logits, i), memory.floats(c.bias), scratch.data(),
                     words(c.chosen) + i * c.rule.used, memory.floats(c.weights) + i * c.rule.used);
    }
  }
  // Takes the experts one after another, and looks for the choices of each.
  void operator()(const GroupCall& c) const {
    uint32_t place = 0;
    for (uint32_t e = 0; e <= c.experts; ++e) {
      words(c.first)[e] = place;
      for (uint32_t i = 0; i < c.rows * c.used; ++i) {
        if (words(c.chosen)[i] != e) continue;
        words(c.row)[place] = i / c.used;
        words(c.place)[i] = place++;
      }
    }
  }

  // Computes a row at a time.
  void operator()(const ExpertGemmCall& c) const {
    for (uint32_t e = 0; e < c.experts; ++e) {
      const uint32_t* first = words(c.first) + c.expert0;
      for (uint32_t at = first[e]; at < first[e + 1]; ++at) {
        GemmCall one = c.product(e);
        one.m = 1;
        one.out.at = c.out.at + (at - first[0]) * c.out.stride * sizeof(float);
        multiply(one, c.row ? words(c.row)[at] : at - first[0]);
      }
    }
  }
  // Adds one expert after another, and each element's terms one after another.
  void operator()(const ExpertAddCall& c) const {
    for (uint32_t i = 0; c.begins && i < c.rows; ++i) std::fill_n(row(c.out, i), c.n, -0.0f);
    for (uint32_t e = c.expert0; e < c.expert0 + c.experts; ++e) {
      for (uint32_t i = 0; i < c.rows * c.used; ++i) {
        if (words(c.chosen)[i] != e) continue;
        const float* x = row(c.x, words(c.place)[i] - words(c.first)[c.expert0]);
        for (uint32_t d = 0; d < c.n; ++d) {
          float& sum = row(c.out, i / c.used)[d];
          sum = std::fma(memory.floats(c.weights)[i], x[d], sum);
        }
      }
    }
  }

  uint32_t rows_of(const PlacedRows& placed, uint32_t rows) const {
    if (!placed) return rows;
    const uint32_t* first = words(placed.first) + placed.expert0;
    return first[placed.experts] - first[0];
  }
  // Returns element d of a position of a page of latents.
  float latent_element(const LatentPages& pages, const std::byte* page, size_t slot,
                       size_t d) const {
    const size_t at = slot * padded_length(pages.length) + d;
    const auto half = [&](size_t i) {
      uint16_t bits;
      std::memcpy(&bits, page + 2 * i, 2);
      return bits;
    };
    if (pages.type == KvType::kF16) return f16_to_f32(f16_t{half(at)});
    if (pages.type == KvType::kBF16) return bf16_to_f32(bf16_t{half(at)});
    if (pages.type == KvType::kF32) return reinterpret_cast<const float*>(page)[at];
    const size_t scale =
        kv_scales_offset(pages.length) / 2 + slot * kv_blocks(pages.length) + d / 32;
    return static_cast<float>(static_cast<int8_t>(page[at])) * f16_to_f32(f16_t{half(scale)});
  }
  uint32_t* words(const Place& at) const { return reinterpret_cast<uint32_t*>(memory.at(at)); }
  KvPage page(const KvPages& pages, size_t page, size_t head) const {
    const size_t keys = kv_half_bytes(pages.type, pages.key_length);
    const size_t both = keys + kv_half_bytes(pages.type, pages.value_length);
    std::byte* at = memory.at(pages.at.offset + page * pages.stride + head * both);
    return {at, at + keys};
  }
};

void Direct::operator()(const KvStoreCall& c) const {
  const auto store = kernels_for(Isa::kReference).kv_store[static_cast<size_t>(c.pages.type)];
  for (size_t head = 0; head < c.pages.heads; ++head) {
    for (size_t i = c.rows; i-- > 0;) {
      uint32_t slot;
      std::memcpy(&slot, memory.at(c.slots.offset + 4 * i), 4);
      store({row(c.k, i) + head * c.pages.key_length, row(c.v, i) + head * c.pages.value_length,
             c.pages.key_length, c.pages.value_length, page(c.pages, slot / 64, head), slot % 64});
    }
  }
}

// Calls kernels of the fastest level, with all heads of a group in one call.
void Direct::operator()(const PagedAttendCall& c) const {
  const auto attend =
      kernels_for(best_isa(detect_cpu_features())).attend[static_cast<size_t>(c.pages.type)];
  std::vector<RunLine> scratch(kAttendScratchBytes / sizeof(RunLine));
  for (size_t i = 0; i < c.rows; ++i) {
    PagedRow sees;
    std::memcpy(&sees, memory.at(c.rows_of.offset + sizeof sees * i), sizeof sees);
    for (size_t head = 0; head < c.heads; head += c.group) {
      std::vector<KvPage> pages(sees.last / 64 + 1);
      for (uint32_t p = sees.first / 64; p < pages.size(); ++p) {
        pages[p] = page(c.pages, sees.first_page + p, c.kv_head0 + head / c.group);
      }
      std::vector<size_t> from, to;
      for (size_t h = 0; h < c.group; ++h) {
        from.push_back(h * c.pages.key_length);
        to.push_back(h * c.pages.value_length);
      }
      const std::vector<uint32_t> last(c.group, sees.last);
      attend({.q = row(c.q, i) + head * c.pages.key_length,
              .q_offset = from.data(),
              .last = last.data(),
              .rows = c.group,
              .window = sees.last + 1 - sees.first,
              .pages = pages.data(),
              .key_length = c.pages.key_length,
              .value_length = c.pages.value_length,
              .scale = c.scale,
              .out = row(c.out, i) + head * c.pages.value_length,
              .out_offset = to.data(),
              .scratch = reinterpret_cast<std::byte*>(scratch.data())});
    }
  }
}

// Computes one text at a time, for all rows of that text. All rows of the step are stored as that
// text's keys.
void Direct::operator()(const AttendCall& c) const {
  std::vector<AttendRow> rows(c.rows);
  std::memcpy(rows.data(), memory.at(c.rows_of), c.rows * sizeof(AttendRow));
  const size_t half = kv_half_bytes(KvType::kF32, std::max(c.key_length, c.value_length));
  const size_t count = c.step_rows / kPagePositions + 1;
  std::vector<RunLine> memory_of(2 * half * count / sizeof(RunLine));
  std::vector<RunLine> scratch(kAttendScratchBytes / sizeof(RunLine));
  std::vector<KvPage> pages;
  for (size_t p = 0; p < count; ++p) {
    std::byte* page = reinterpret_cast<std::byte*>(memory_of.data()) + 2 * p * half;
    pages.push_back({page, page + half});
  }
  for (uint32_t i = 0; i < c.rows; ++i) {
    for (uint32_t head = 0; head < c.heads; ++head) {
      const size_t kv = head / c.group;
      for (uint32_t p = 0; p + rows[i].text < c.step_rows; ++p) {
        kv_store_f32_reference({row(c.k, p + rows[i].text) + kv * c.key_length,
                                row(c.v, p + rows[i].text) + kv * c.value_length, c.key_length,
                                c.value_length, pages[p / kPagePositions], p % kPagePositions});
      }
      const size_t nowhere = 0;
      const float* slope = memory.floats(c.slopes);
      attend_f32_reference({.q = row(c.q, i) + head * c.key_length,
                            .q_offset = &nowhere,
                            .last = &rows[i].last,
                            .rows = 1,
                            .window = rows[i].last + 1 - rows[i].first,
                            .pages = pages.data(),
                            .key_length = c.key_length,
                            .value_length = c.value_length,
                            .scale = c.scale,
                            .out = row(c.out, i) + head * c.value_length,
                            .out_offset = &nowhere,
                            .scratch = reinterpret_cast<std::byte*>(scratch.data()),
                            .slope = slope == nullptr ? nullptr : slope + head,
                            .position = slope == nullptr ? nullptr : &rows[i].position});
    }
  }
}

// Stores the copies one after another, with kernels of the fastest level.
void Direct::operator()(const LatentStoreCall& c) const {
  const auto store =
      kernels_for(best_isa(detect_cpu_features())).store_latent[static_cast<size_t>(c.pages.type)];
  for (size_t copy = 0; copy < c.pages.copies; ++copy) {
    for (size_t i = c.rows; i-- > 0;) {
      uint32_t slot;
      std::memcpy(&slot, memory.at(c.slots.offset + 4 * i), 4);
      std::byte* page = memory.at(c.pages.at.offset + slot / 64 * c.pages.stride +
                                  copy * kv_half_bytes(c.pages.type, c.pages.length));
      store({row(c.x, i), nullptr, c.pages.length, 0, {page, nullptr}, slot % 64});
    }
  }
}

// Calls kernels of the fastest level, with all heads of a row and all spans in one call.
void Direct::operator()(const LatentAttendCall& c) const {
  const Kernels& kernels = kernels_for(best_isa(detect_cpu_features()));
  std::vector<RunLine> scratch(kLatentScratchBytes / sizeof(RunLine));
  const uint32_t length = c.pages.length, latent = c.kv_lora_rank;
  for (size_t i = 0; i < c.rows; ++i) {
    PagedRow sees;
    std::memcpy(&sees, memory.at(c.rows_of.offset + sizeof sees * i), sizeof sees);
    std::vector<KvPage> pages(sees.last / 64 + 1);
    for (size_t p = 0; p < pages.size(); ++p) {
      pages[p].k = memory.at(c.pages.at.offset + (sees.first_page + p) * c.pages.stride);
    }
    std::vector<float> q(size_t{c.heads} * length);
    std::vector<size_t> from, to;
    for (size_t h = 0; h < c.heads; ++h) {
      from.push_back(h * length);
      to.push_back(h * latent);
      std::copy_n(row(c.q, i) + h * c.q_head, latent, &q[h * length]);
      std::copy_n(row(c.q_rope, i) + h * c.rope_head, length - latent, &q[h * length + latent]);
    }
    const std::vector<uint32_t> last(c.heads, sees.last);
    const uint32_t spans = sees.last / kSpanPositions + 1;
    const size_t floats = row_sums_floats(c.heads, latent);
    std::vector<RunLine> sums((spans + 1) * (floats * sizeof(float) / sizeof(RunLine) + 1));
    auto* at = reinterpret_cast<float*>(sums.data());
    kernels.attend_latent[static_cast<size_t>(c.pages.type)](
        {.q = q.data(),
         .q_offset = from.data(),
         .last = last.data(),
         .rows = c.heads,
         .window = 0,
         .pages = pages.data(),
         .key_length = length,
         .value_length = latent,
         .scale = c.scale,
         .out = nullptr,
         .out_offset = nullptr,
         .scratch = reinterpret_cast<std::byte*>(scratch.data()),
         .sums = at,
         .span0 = 0,
         .span1 = spans});
    kernels.merge_spans(
        {at, spans, c.heads, latent, at + spans * floats, true, row(c.out, i), to.data()});
  }
}

// Computes one element at a time: a chain over the latent, from its first element to the end of its
// padding.
void Direct::operator()(const LatentExpandCall& c) const {
  const uint32_t latent = c.kv_lora_rank, length = c.from.length;
  const uint32_t nope_length = c.to.key_length - (length - latent);
  for (uint32_t position = 0; position < c.positions; ++position) {
    const uint32_t page_of = position / 64, slot = position % 64;
    const KvPage from{memory.at(c.from.at.offset + page_of * c.from.stride), nullptr};
    std::vector<float> x(std::max(padded_length(latent), length));
    for (uint32_t d = 0; d < length; ++d) x[d] = latent_element(c.from, from.k, slot, d);
    const auto chain = [&](const auto& factor) {
      float s = 0;
      for (uint32_t i = 0; i < padded_length(latent); ++i) {
        s = std::fma(i < latent ? factor(i) : 0.0f, x[i], s);
      }
      return s;
    };
    for (uint32_t head = 0; head < c.to.heads; ++head) {
      const KvPage to = page(c.to, page_of, head);
      auto* keys = reinterpret_cast<float*>(to.k);
      auto* values = reinterpret_cast<float*>(to.v) + slot * padded_length(c.to.value_length);
      for (uint32_t d = 0; d < padded_length(c.to.key_length); ++d) {
        float k = d < c.to.key_length && d >= nope_length ? x[latent + d - nope_length] : 0;
        if (d < nope_length) {
          k = chain([&](uint32_t i) { return row(c.key, size_t{head} * latent + i)[d]; });
        }
        keys[d * 64 + slot] = k;
      }
      for (uint32_t e = 0; e < padded_length(c.to.value_length); ++e) {
        const size_t of = size_t{head} * c.to.value_length + e;
        values[e] =
            e < c.to.value_length ? chain([&](uint32_t i) { return row(c.value, of)[i]; }) : 0;
      }
    }
  }
}

}  // namespace

void call_directly(const KernelCall& call, RunMemory& memory) { std::visit(Direct{memory}, call); }

}  // namespace hearth
