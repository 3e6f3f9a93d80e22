#include "accelerator/virtual/run_call.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <span>

#include "accelerator/call_problems.h"
#include "accelerator/virtual/test_direct_call.h"
#include "base/error.h"
#include "kernels/attention/attention_kernels.h"
#include "kernels/gemm/gemm_kernels.h"
#include "kernels/kernels.h"
#include "kernels/quantize/quantize_kernels.h"

namespace hearth {
namespace {

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
    call_directly(problem.call, direct);
    std::vector<std::byte> got = run.bytes(), expected = direct.bytes();
    settle_nans(problem, got);
    settle_nans(problem, expected);
    EXPECT_EQ(got, expected);
    changed += run.bytes() != problem.memory;
    ++all;
  });
  // A sum in place may happen to equal the operand that it overwrites, and then changes no byte.
  EXPECT_GT(changed, all * 9 / 10);
}

void mark(const Access& access, std::vector<bool>& bytes) {
  for (uint64_t row = 0; row < access.rows; ++row) {
    for (uint64_t i = 0; i < access.bytes; ++i) {
      bytes[access.at.offset + row * access.stride + i] = true;
    }
  }
}

// Whether the call writes only some slots of the pages, or only some rows of `out`.
bool stores_some(const KernelCall& call) {
  const auto* quantize = std::get_if<QuantizeCall>(&call);
  const auto* gate = std::get_if<GateCall>(&call);
  return std::holds_alternative<KvStoreCall>(call) ||
         std::holds_alternative<LatentStoreCall>(call) ||
         std::holds_alternative<LatentExpandCall>(call) ||
         std::holds_alternative<ExpertGemmCall>(call) ||
         (quantize != nullptr && quantize->placed) || (gate != nullptr && gate->placed);
}

// Tests that a call reads only bytes that accesses_of() names as read, and writes exactly the bytes
// that it names as written.
TEST(RunCall, TouchesWhatItsAccessesSay) {
  for_problems(true, [](const CallProblem& problem) {
    std::vector<bool> reads(problem.memory.size()), writes(problem.memory.size());
    for (const Access& access : accesses_of(problem.call)) {
      mark(access, access.writes ? writes : reads);
      // The call leaves some of these bytes as they were, so they count as read too.
      if (access.writes && stores_some(problem.call)) mark(access, reads);
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

// A step of several texts. Its rows are parts of longer rows.
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

  // Runs attention for rows [begin, end). `gap`: how many floats lie before the first row and
  // between rows.
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

// A row's bits depend neither on its place nor on the other rows of its call.
TEST(RunCall, AttentionDoesNotDependOnTheLayout) {
  const AttendStep step({5, 130, 1}, true);
  const std::vector<float> whole = step.run(0, 136, 0, true);
  EXPECT_EQ(step.run(0, 136, 3, true), whole);
  const std::vector<float> some = step.run(4, 100, 1, true);
  const size_t n = size_t{step.heads} * step.value_length;
  EXPECT_EQ(some, std::vector<float>(whole.begin() + 4 * n, whole.begin() + 100 * n));
}

TEST(RunCall, RefusesAttentionToMissingPositions) {
  for (const AttendRow& row : {AttendRow{0, 0, 0, 3}, AttendRow{3, 0, 0, 0}, AttendRow{2, 0, 0, 1},
                               AttendRow{0, 0, 2, 1}}) {
    AttendStep step({3}, true);
    step.rows[1] = row;
    EXPECT_THROW(step.run(0, 3, 0, false), Error);
  }
}

}  // namespace
}  // namespace hearth
