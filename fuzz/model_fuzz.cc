// Fuzzes whole models. The bytes become a GGUF file (made_model.h), a source, a spec, weights, and
// two engines that run two tokens. One engine runs at the level `reference`, with one thread and
// token by token. The other runs both tokens in a step, with other threads and groups. Its level is
// the input's choice, or the one that HEARTH_ISA names. An encoder gets two texts instead (both
// tokens, and one of them), one by one or in one step. Only hearth::Error may be thrown, by both
// engines or by neither. The numbers are equal to the bit, as the numerical contract says
// (docs/numerics.md), except for BF16 on levels with instructions of their own for it.
#include <sys/prctl.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/error.h"
#include "choices.h"
#include "engine/engine.h"
#include "formats/gguf.h"
#include "made_model.h"

namespace hearth {
namespace {

using Rows = std::vector<std::vector<float>>;

constexpr uint32_t kTokens = 2;
constexpr uint32_t kTextTokens = kTokens + 1;  // of an encoder's two texts together

std::vector<Isa> all_levels() {
  CpuFeatures features = detect_cpu_features();
  if (const char* forced = std::getenv("HEARTH_ISA")) return {choose_isa(features, forced)};
  std::vector<Isa> levels = available_isas(features);
  if (levels.size() > 1) levels.erase(levels.begin());  // drops the reference
  return levels;
}

// State that all runs share. Without huge pages a run clears no more memory than it touches.
struct Host {
  bool small_pages = prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) == 0;
  std::vector<Isa> levels = all_levels();
  Machine machines[2] = {Machine::invented(1, 2), Machine::invented(2, 2)};
};

// The levels, engines and tokens of a run. They are chosen before the model, so that short inputs
// choose them too.
struct Work {
  Isa isa;
  EngineOptions reference, other;
  uint8_t tokens[kTokens];
};

Work choose_work(Choices& choices, const std::vector<Isa>& levels) {
  Work work{choices.of(levels), {}, {}, {}};
  EngineOptions& options = work.reference;
  options.shards = 1 + choices.byte() % 2;
  options.threads = options.shards;
  options.context = 64;
  options.kv_type = static_cast<KvType>(choices.byte() % kKvTypes);
  options.prefill_rows = kTextTokens;
  options.decode_rows = 1;
  options.outputs = kTokens;
  options.hidden_rows = kTextTokens;
  work.other = options;
  work.other.threads = options.shards * 2;
  work.other.prefill_groups = 1 + choices.byte() % work.other.threads;
  for (uint8_t& token : work.tokens) token = choices.byte();
  return work;
}

// Returns all logits of the tokens, with `at_once` tokens in a step.
Rows run_tokens(Engine& engine, const std::vector<int32_t>& tokens, size_t at_once) {
  Rows rows;
  auto sequence = engine.new_sequence();
  for (size_t done = 0; done < tokens.size(); done += at_once) {
    StepRequest request{sequence.get(), std::span(tokens).subspan(done, at_once), Want::kAll};
    engine.step({&request, 1});
    for (size_t i = 0; i < at_once; ++i) {
      std::span<const float> row = engine.logits(i);
      rows.emplace_back(row.begin(), row.end());
    }
  }
  return rows;
}

// Returns the hidden states of two texts, run in one step or one after the other.
Rows run_texts(Engine& engine, const std::vector<int32_t>& tokens, bool together) {
  Rows rows;
  std::unique_ptr<Sequence> first = engine.new_sequence(), second = engine.new_sequence();
  const std::vector<StepRequest> texts = {
      {first.get(), tokens, Want::kHidden},
      {second.get(), std::span(tokens).first(1), Want::kHidden}};
  const size_t at_once = together ? 2 : 1;
  for (size_t done = 0; done < texts.size(); done += at_once) {
    std::span<const StepRequest> step = std::span(texts).subspan(done, at_once);
    engine.step(step);
    size_t given = 0;
    for (const StepRequest& text : step) given += text.tokens.size();
    for (size_t i = 0; i < given; ++i) {
      std::span<const float> row = engine.hidden(i);
      rows.emplace_back(row.begin(), row.end());
    }
  }
  return rows;
}

Rows run_some(Engine& engine, const std::vector<int32_t>& tokens, bool together) {
  if (engine.spec().is_encoder()) return run_texts(engine, tokens, together);
  return run_tokens(engine, tokens, together ? kTokens : 1);
}

bool finite(const std::vector<float>& row) {
  for (float value : row) {
    if (!std::isfinite(value)) return false;
  }
  return true;
}

double mean_square(const std::vector<float>& row) {
  double sum = 0;
  for (float value : row) sum += double{value} * value;
  return sum / static_cast<double>(row.size());
}

// Returns the bound on the error of BF16. Each of 4 products a layer, and the head, takes
// activations rounded to BF16. A different order of earlier sums moves an element by at most a
// step, 2^-8 of it. Such steps add as squares over products. Softmax, norms and SwiGLU of numbers
// of usual size enlarge them at most 8 times.
double bf16_bound(uint32_t layers) { return 8 * 0x1p-8 * std::sqrt(4.0 * layers + 1); }

void compare(const MadeModel& model, bool exact, const Rows& first, const Rows& second) {
  for (size_t i = 0; i < first.size(); ++i) {
    const std::vector<float>&a = first[i], &b = second[i];
    if (exact || model.tame) HEARTH_CHECK(finite(a) == finite(b), "levels agree on what is finite");
    if (!finite(a) || !finite(b)) continue;
    if (exact) {
      HEARTH_CHECK(a == b, "levels give the same numbers");
    } else if (model.tame) {
      std::vector<float> difference(a.size());
      for (size_t j = 0; j < a.size(); ++j) difference[j] = a[j] - b[j];
      double moved = std::sqrt(mean_square(difference) / std::max(mean_square(a), 1e-30));
      HEARTH_CHECK(moved < bf16_bound(model.layers), "levels give nearly the same numbers");
    }
  }
}

void run_model(Choices& choices) {
  static const Host host;
  Work work = choose_work(choices, host.levels);
  MadeModel made = make_model(choices);
  std::vector<int32_t> tokens;
  for (uint8_t token : work.tokens) tokens.push_back(static_cast<int>(token % made.vocabulary));
  ModelSource source = parse_gguf(std::move(made.file), "made.gguf");
  ModelSpec spec = make_spec(source);
  // A table of positions has a row for each position, so the context must not exceed the file's.
  work.reference.context = std::min(work.reference.context, spec.hyper.context);
  work.other.context = work.reference.context;
  const Machine& machine = host.machines[work.reference.shards - 1];
  Engine reference(source, spec, machine, Isa::kReference, work.reference);
  Rows first = run_some(reference, tokens, false);
  bool exact = !made.bf16 || !multiplies_bf16(work.isa);
  try {
    Engine other(reference.model(), machine, work.isa, work.other);
    compare(made, exact, first, run_some(other, tokens, true));
  } catch (const Error& error) {
    HEARTH_CHECK(false, error.what());
  }
}

}  // namespace
}  // namespace hearth

// Keeps only two stack frames of each allocation, since recording more takes longer than the rest
// of a run.
extern "C" const char* __asan_default_options() { return "malloc_context_size=2"; }

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  hearth::Choices choices({reinterpret_cast<const char*>(data), size});
  try {
    hearth::run_model(choices);
  } catch (const hearth::Error&) {
    // A model that cannot be run is refused.
  }
  return 0;
}
