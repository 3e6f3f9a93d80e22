#include "accelerator/virtual/run_call.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <span>

#include "accelerator/call_problems.h"
#include "base/error.h"
#include "kernels/attention/attention_kernels.h"
#include "kernels/gemm/gemm_kernels.h"
#include "kernels/kernels.h"
#include "kernels/quantize/quantize_kernels.h"

namespace hearth {
namespace {

constexpr BufferId kCalls = 7;

struct alignas(64) RunLine {
  std::byte bytes[64];
};

// Aligned memory of the bytes of the one buffer.
class RunMemory {
 public:
  explicit RunMemory(std::span<const std::byte> bytes)
      : lines_(bytes.size() / sizeof(RunLine) + 1), size_(bytes.size()) {
    std::memcpy(lines_.data(), bytes.data(), bytes.size());
  }

  std::byte* at(const Place& place) { return at(place.offset); }
  std::byte* at(uint64_t offset) { return reinterpret_cast<std::byte*>(lines_.data()) + offset; }
  float* floats(const Place& place) {
    return place ? reinterpret_cast<float*>(at(place.offset)) : nullptr;
  }
  std::vector<std::byte> bytes() { return {at(0), at(0) + size_}; }
  void run(const KernelCall& call) {
    run_call(call, [this](const Place& place) {
      EXPECT_EQ(place.buffer, kCalls);
      return at(place);
    });
  }

 private:
  std::vector<RunLine> lines_;
  size_t size_;
};

// Calls the reference kernels as kernels/ says.
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
  // All rows of the shard are read back first.
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
    for (size_t i = 0; i < c.rows; ++i) {
      const QuantizeArgs args = {row(c.x, i), 0, c.n, act(c.out), i};
      if (c.out.format == ActFormat::kF32) quantize_f32_reference(args);
      if (c.out.format == ActFormat::kBF16) quantize_bf16_reference(args);
      if (c.out.format == ActFormat::kQ8) quantize_q8_reference(args);
    }
  }
  // A row and a panel at a time: no chain knows of the others.
  void operator()(const GemmCall& c) const {
    std::vector<RunLine> scratch(kGemmScratchBytes / sizeof(RunLine));
    for (uint32_t panel = 0; panel < c.panels; ++panel) {
      for (uint32_t i = 0; i < c.m; ++i) {
        kernels_for(Isa::kReference)
            .gemm[static_cast<size_t>(c.spec.kind)](
                {.w = weight_view(c.spec, memory.at(c.codes),
                                  c.scales ? memory.at(c.scales) : nullptr),
                 .panel0 = c.panel0 + panel,
                 .panels = 1,
                 .block0 = c.block0,
                 .block1 = c.block1,
                 .a = act_rows(act_view(act(c.a)), i, 0),
                 .m = 1,
                 .out = row(c.out, i) + panel * kPanelRows,
                 .out_stride = 16,
                 .scratch = reinterpret_cast<std::byte*>(scratch.data()),
                 .cuts = c.cuts});
      }
    }
  }
  void operator()(const AddCall& c) const {
    for (size_t i = 0; i < c.rows; ++i) {
      add_vectors_reference({row(c.a, i), row(c.b, i), row(c.c, i), c.n, row(c.out, i)});
    }
  }
  void operator()(const GateCall& c) const {
    for (size_t i = 0; i < c.rows; ++i) {
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
  void operator()(const RouteCall& c) const {
    std::vector<float> scratch(2 * c.rule.experts + c.rule.groups);
    for (size_t i = c.rows; i-- > 0;) {
      choose_experts(c.rule, row(c.logits, i), memory.floats(c.bias), scratch.data(),
                     words(c.chosen) + i * c.rule.used, memory.floats(c.weights) + i * c.rule.used);
    }
  }
  // Expert by expert.
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

// By kernels of the fastest level, and heads of a group in one call.
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

// All rows of one text at a time, and all step rows as the keys of that text.
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

template <typename Fn>
void for_problems(bool brief, const Fn& fn) {
  std::mt19937 random(1);
  for (const Contract& contract : all_contracts(brief)) {
    for (const auto& make : contract.problems) {
      const CallProblem problem = make(kCalls, random);
      SCOPED_TRACE(contract.name + ": " + problem.sizes);
      ASSERT_NO_THROW(check_call(problem.call));
      fn(problem);
      if (testing::Test::HasFailure()) return;
    }
  }
}

TEST(RunCall, IsWhatTheReferenceKernelsGive) {
  uint32_t changed = 0, all = 0;
  for_problems(true, [&](const CallProblem& problem) {
    RunMemory run(problem.memory), direct(problem.memory);
    run.run(problem.call);
    std::visit(Direct{direct}, problem.call);
    std::vector<std::byte> got = run.bytes(), expected = direct.bytes();
    settle_nans(problem, got);
    settle_nans(problem, expected);
    EXPECT_EQ(got, expected);
    changed += run.bytes() != problem.memory;
    ++all;
  });
  // A sum in place may be what one of its parts was.
  EXPECT_GT(changed, all * 9 / 10);
}

void mark(const Access& access, std::vector<bool>& bytes) {
  for (uint64_t row = 0; row < access.rows; ++row) {
    for (uint64_t i = 0; i < access.bytes; ++i) {
      bytes[access.at.offset + row * access.stride + i] = true;
    }
  }
}

// Bytes that the call does not say it reads are not read, and those that it says it writes, and no
// others, are written.
TEST(RunCall, TouchesWhatItsAccessesSay) {
  for_problems(true, [](const CallProblem& problem) {
    std::vector<bool> reads(problem.memory.size()), writes(problem.memory.size());
    for (const Access& access : accesses_of(problem.call)) {
      mark(access, access.writes ? writes : reads);
      // Not all of the pages: what is not stored stays.
      if (access.writes && std::holds_alternative<KvStoreCall>(problem.call)) mark(access, reads);
    }
    std::vector<std::byte> before[2] = {problem.memory, problem.memory};
    for (size_t i = 0; i < reads.size(); ++i) {
      if (reads[i]) continue;
      before[0][i] = std::byte{0x5a};
      before[1][i] = std::byte{0xc3};
    }
    RunMemory first(before[0]), second(before[1]);
    first.run(problem.call);
    second.run(problem.call);
    const std::vector<std::byte> after[2] = {first.bytes(), second.bytes()};
    for (size_t i = 0; i < reads.size(); ++i) {
      if (writes[i]) {
        ASSERT_EQ(after[0][i], after[1][i]) << "byte " << i;
      } else {
        ASSERT_EQ(after[0][i], before[0][i]) << "byte " << i;
        ASSERT_EQ(after[1][i], before[1][i]) << "byte " << i;
      }
    }
  });
}

TEST(RunCall, NormsWithoutAWeight) {
  std::mt19937 random(2);
  std::vector<float> x(2 * 50);
  for (float& value : x) value = std::normal_distribution<float>()(random);
  for (NormCallKind kind : {NormCallKind::kRms, NormCallKind::kLayer}) {
    RunMemory memory(std::as_bytes(std::span(x)));
    const FloatRows rows = {{kCalls, 0}, 50};
    memory.run(NormCall{.kind = kind, .x = rows, .rows = 2, .n = 50, .eps = 1e-6f, .out = rows});
    for (size_t i = 0; i < 2; ++i) {
      double mean = 0, squares = 0;
      for (size_t d = 0; d < 50; ++d) mean += x[50 * i + d] / 50.0;
      if (kind == NormCallKind::kRms) mean = 0;
      for (size_t d = 0; d < 50; ++d) squares += std::pow(x[50 * i + d] - mean, 2) / 50;
      for (size_t d = 0; d < 50; ++d) {
        EXPECT_NEAR(memory.floats({kCalls, 0})[50 * i + d],
                    (x[50 * i + d] - mean) / std::sqrt(squares + 1e-6), 1e-5);
      }
    }
  }
}

// A step of texts with rows of their own, cut out of longer rows.
struct AttendStep {
  uint32_t heads = 4, group = 2, key_length = 20, value_length = 12;
  std::vector<uint32_t> texts;
  bool causal = true;
  std::vector<float> q, k, v;  // [rows][heads ...], without gaps
  std::vector<AttendRow> rows;

  explicit AttendStep(const std::vector<uint32_t>& lengths, bool causal_)
      : texts(lengths), causal(causal_) {
    std::mt19937 random(3);
    auto fill = [&](std::vector<float>& x, size_t count) {
      x.resize(count);
      for (float& value : x) value = std::normal_distribution<float>()(random);
    };
    uint32_t text = 0;
    for (uint32_t length : lengths) {
      for (uint32_t i = 0; i < length; ++i) {
        rows.push_back({text, i, i > 90 ? i - 90 : 0, causal ? i : length - 1});
      }
      text += length;
    }
    fill(q, rows.size() * heads * key_length);
    fill(k, rows.size() * heads / group * key_length);
    fill(v, rows.size() * heads / group * value_length);
  }

  // Runs rows [begin, end) with so many floats between rows and before all.
  std::vector<float> run(uint32_t begin, uint32_t end, uint32_t gap, bool sloped) const;
  double truth(uint32_t row, uint32_t head, uint32_t d, bool sloped) const;
  static float slope(uint32_t head) { return 0.25f / static_cast<float>(1 + head); }
};

std::vector<float> AttendStep::run(uint32_t begin, uint32_t end, uint32_t gap, bool sloped) const {
  std::vector<float> memory(gap);
  auto lay = [&](const std::vector<float>& x, size_t row0, size_t row1) {
    const size_t n = x.size() / rows.size();
    const FloatRows at = {{kCalls, memory.size() * 4}, n + gap};
    for (size_t row = row0; row < row1; ++row) {
      memory.insert(memory.end(), x.begin() + row * n, x.begin() + (row + 1) * n);
      memory.insert(memory.end(), gap, NAN);
    }
    return at;
  };
  AttendCall call = {.rows = end - begin,
                     .step_rows = static_cast<uint32_t>(rows.size()),
                     .heads = heads,
                     .group = group,
                     .key_length = key_length,
                     .value_length = value_length,
                     .scale = 0.22f};
  call.q = lay(q, begin, end);
  call.k = lay(k, 0, rows.size());
  call.v = lay(v, 0, rows.size());
  const std::vector<float> nothing(rows.size() * heads * value_length, NAN);
  call.out = lay(nothing, begin, end);
  call.rows_of = {kCalls, memory.size() * 4};
  memory.resize(memory.size() + call.rows * 4);
  std::memcpy(memory.data() + call.rows_of.offset / 4, rows.data() + begin, call.rows * 16);
  if (sloped) call.slopes = {kCalls, memory.size() * 4};
  for (uint32_t head = 0; head < heads; ++head) memory.push_back(slope(head));
  check_call(call);
  RunMemory bytes(std::as_bytes(std::span(memory)));
  bytes.run(call);
  std::vector<float> out;
  for (uint32_t i = 0; i < call.rows; ++i) {
    const float* row = bytes.floats(call.out.at) + i * call.out.stride;
    out.insert(out.end(), row, row + size_t{heads} * value_length);
  }
  return out;
}

double AttendStep::truth(uint32_t row, uint32_t head, uint32_t d, bool sloped) const {
  const AttendRow& sees = rows[row];
  const uint32_t kv_heads = heads / group, kv = head / group;
  double sum = 0, value = 0;
  for (uint32_t p = sees.first; p <= sees.last; ++p) {
    const size_t at = sees.text + p;
    double score = 0;
    for (uint32_t e = 0; e < key_length; ++e) {
      score += static_cast<double>(q[(size_t{row} * heads + head) * key_length + e]) *
               k[(at * kv_heads + kv) * key_length + e];
    }
    score *= 0.22f;
    if (sloped) score -= slope(head) * std::fabs(static_cast<double>(sees.position) - p);
    sum += std::exp(score);
    value += std::exp(score) * v[(at * kv_heads + kv) * value_length + d];
  }
  return value / sum;
}

TEST(RunCall, AttentionIsThatOfTheDefinition) {
  for (bool sloped : {false, true}) {
    const AttendStep step({5, 130, 1}, !sloped);
    const auto rows = static_cast<uint32_t>(step.rows.size());
    const std::vector<float> out = step.run(0, rows, 0, sloped);
    for (uint32_t row = 0; row < rows; ++row) {
      for (uint32_t i = 0; i < step.heads * step.value_length; ++i) {
        ASSERT_NEAR(out[size_t{row} * step.heads * step.value_length + i],
                    step.truth(row, i / step.value_length, i % step.value_length, sloped), 1e-5);
      }
    }
  }
}

// Neither where rows lie nor which of them are in a call changes a bit.
TEST(RunCall, AttentionDoesNotKnowTheLayout) {
  const AttendStep step({5, 130, 1}, true);
  const std::vector<float> whole = step.run(0, 136, 0, true);
  EXPECT_EQ(step.run(0, 136, 3, true), whole);
  const std::vector<float> some = step.run(4, 100, 1, true);
  const size_t n = size_t{step.heads} * step.value_length;
  EXPECT_EQ(some, std::vector<float>(whole.begin() + 4 * n, whole.begin() + 100 * n));
}

TEST(RunCall, AttentionToWhatThereIsNotIsRefused) {
  for (const AttendRow& row : {AttendRow{0, 0, 0, 3}, AttendRow{3, 0, 0, 0}, AttendRow{2, 0, 0, 1},
                               AttendRow{0, 0, 2, 1}}) {
    AttendStep step({3}, true);
    step.rows[1] = row;
    EXPECT_THROW(step.run(0, 3, 0, false), Error);
  }
}

}  // namespace
}  // namespace hearth
