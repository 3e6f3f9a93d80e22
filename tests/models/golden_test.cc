// Tests whole models against the float64 reference, and their bits under threads, chunks and
// groups.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "engine/engine.h"
#include "golden_set.h"
#include "kernels/gemm/test_schedules.h"
#include "models/registry.h"
#include "random_plan.h"

namespace hearth {
namespace {

// The most groups on a shard, in plans that change between steps.
constexpr uint32_t kMaxParts = 2;

struct RunOptions {
  Isa isa = Isa::kReference;
  KvType kv = KvType::kF32;
  uint32_t threads = 1, shards = 1, prefill_groups = 0, decode_groups = 0;
  size_t chunk = 64;  // tokens a step
  GroupSync sync = GroupSync::kAsync;
  ExpertCut experts = ExpertCut::kCut;
  uint32_t expanded = 0;   // number of expanded tokens, where there are latents
  uint32_t plan_seed = 0;  // if not 0, every step has another plan, drawn from this seed
  uint32_t schedules = 0;  // the seed of random schedules; 0: none
};

// Returns random schedules for every product of both phases, in steps of some sizes.
ScheduleTable random_schedules(const Engine& engine, uint32_t seed) {
  std::mt19937 random(seed);
  ScheduleTable table;
  const Kernels& kernels = kernels_for(engine.isa());
  for (Phase phase : {Phase::kPrefill, Phase::kDecode}) {
    for (const ProductUse& use : engine.graph(phase).products()) {
      const ProductShape& product = use.shape;
      if (!table.at(product, 1).is_default()) continue;
      const GemmMenu& menu = *kernels.gemm[static_cast<size_t>(product.kind)].menu;
      for (uint32_t rows : {1u, 2u, 7u, 20u}) {
        table.entries.push_back({product, rows, random_schedule(menu, random)});
      }
    }
  }
  EXPECT_FALSE(table.entries.empty());
  table.attend = {.places = seed % 2 == 0 ? 1u : 4u, .tasks = seed};
  return table;
}

EngineOptions engine_options(const GoldenModel& model, const RunOptions& run) {
  EngineOptions options;
  options.threads = run.threads;
  options.shards = run.shards;
  options.prefill_groups = run.prefill_groups;
  options.decode_groups = run.decode_groups;
  options.sync = run.sync;
  options.experts = run.experts;
  options.expand = {.tail = static_cast<uint32_t>(model.tokens.size()) - run.expanded, .step = 1};
  options.context = 1024;
  options.kv_type = run.kv;
  options.prefill_rows = 64;
  options.decode_rows = 4;
  options.outputs = 64;
  return options;
}

Machine machine_of(const RunOptions& run) {
  return Machine::invented(run.shards, (run.threads + run.shards - 1) / run.shards);
}

// Loads the model for the run; the run's threads pack its weights.
std::unique_ptr<Engine> load(const GoldenModel& model, const RunOptions& run) {
  ModelSource file = open_model_source(model.path);
  return std::make_unique<Engine>(file, make_spec(file), machine_of(run), run.isa,
                                  engine_options(model, run));
}

std::vector<float> logits_of(Engine& engine, const GoldenModel& model, const RunOptions& run) {
  auto sequence = engine.new_sequence(static_cast<uint32_t>(model.tokens.size()));
  std::vector<float> logits;
  std::span<const int32_t> tokens = model.tokens;
  std::mt19937 random(run.plan_seed);
  const EnginePlan plan = engine.plan();
  for (size_t done = 0; done < tokens.size();) {
    if (run.plan_seed > 0) engine.set_plan(random_plan(plan, kMaxParts, random));
    size_t count = std::min(run.chunk, tokens.size() - done);
    StepRequest request{sequence.get(), tokens.subspan(done, count), Want::kAll};
    engine.step({&request, 1});
    for (size_t i = 0; i < count; ++i) {
      std::span<const float> row = engine.logits(i);
      logits.insert(logits.end(), row.begin(), row.end());
    }
    done += count;
  }
  return logits;
}

// Returns whether every model goes through all comparisons, which HEARTH_ALL_LEVELS in the
// environment asks for. Otherwise its name chooses some, so that the models together go through
// all.
bool compares_all() { return std::getenv("HEARTH_ALL_LEVELS") != nullptr; }
size_t letters_of(const GoldenModel& model) {
  return std::accumulate(model.name.begin(), model.name.end(), size_t{0});
}

// Returns the levels at which a model's bits are compared under plans, chunks and shards: the
// highest level and one lower level.
std::vector<Isa> compared_levels(const GoldenModel& model) {
  std::vector<Isa> levels = available_isas(detect_cpu_features());
  std::erase(levels, Isa::kReference);  // one chain for every M by construction, and slow
  if (levels.size() <= 2 || compares_all()) return levels;
  return {levels[letters_of(model) % (levels.size() - 1)], levels.back()};
}

// Returns the tokens a step in runs where every step has another plan. They are 1 with one shard
// and 7 with two, or the reverse, as the model's name decides; both with HEARTH_ALL_LEVELS. Steps
// of one token take by far the longest.
std::vector<size_t> compared_chunks(const GoldenModel& model, uint32_t shards) {
  if (compares_all()) return {1, 7};
  return {(letters_of(model) + shards) % 2 == 0 ? size_t{1} : size_t{7}};
}

// The engines of a test share weights: those packed for the first engine with the same cut. The
// packed bytes do not depend on the members that pack them, nor on the level that uses them
// (PackedWeightsAreTheSameWhoeverPacksThem).
class Golden : public testing::TestWithParam<GoldenModel> {
 protected:
  std::vector<float> run_model(const RunOptions& run) { return run_model(GetParam(), run); }
  std::vector<float> run_model(const GoldenModel& model, const RunOptions& run) {
    std::shared_ptr<const Model>& packed = packed_[{model.path, run.shards, run.experts}];
    if (!packed) packed = load(model, run)->model();
    EngineOptions options = engine_options(model, run);
    const Machine machine = machine_of(run);
    if (run.schedules != 0) {
      options.schedules =
          random_schedules(Engine(packed, machine, run.isa, options), run.schedules);
    }
    Engine engine(packed, machine, run.isa, options);
    return logits_of(engine, model, run);
  }

 private:
  std::map<std::tuple<std::string, uint32_t, ExpertCut>, std::shared_ptr<const Model>> packed_;
};
class FloatGolden : public Golden {};
class SharedKvGolden : public Golden {};
class ExpertGolden : public Golden {};
class FolderGolden : public Golden {};
class CodeGolden : public Golden {};
class LatentGolden : public Golden {};

std::vector<GoldenModel> decoders() {
  std::vector<GoldenModel> models = read_golden_set();
  for (const char* list : {"mla_models", "hybrid_models"}) {
    for (GoldenModel& model : read_golden_set(list)) models.push_back(std::move(model));
  }
  return models;
}

// Returns the decoders, and the models of experts that attend with sinks. Other models of experts
// attend as the decoders do.
std::vector<GoldenModel> decoders_and_sinks() {
  std::vector<GoldenModel> models = decoders();
  for (GoldenModel& m : read_golden_set("moe_models")) {
    if (m.name.starts_with("gpt-oss")) models.push_back(std::move(m));
  }
  return models;
}

std::vector<GoldenModel> float_models() {
  std::vector<GoldenModel> models = decoders_and_sinks();
  std::erase_if(models, [](const GoldenModel& m) { return m.quantised || m.bf16; });
  return models;
}

bool share_kv_heads(const GoldenModel& model, uint32_t shards) {
  ModelSource file = open_model_source(model.path);
  ModelSpec spec = make_spec(file);
  const std::vector<CutAxis> axes = cut_axes(spec, std::vector<uint32_t>(shards, 1));
  const auto* attention = spec.first<AttentionBlock>();
  if (attention == nullptr) return true;
  return axes[spec.weight(attention->query.weight).axis].unit_items < attention->group_size();
}

std::vector<GoldenModel> shared_kv_models() {
  std::vector<GoldenModel> models = decoders_and_sinks();
  std::erase_if(models, [](const GoldenModel& m) {
    return !share_kv_heads(m, 2) && !share_kv_heads(m, 3) && !share_kv_heads(m, 4);
  });
  return models;
}

// The numbers of shards that models are cut into; only 4 where a run costs many times as much.
#ifdef HEARTH_FEW_ROUNDS
constexpr uint32_t kShardCounts[] = {4};
#else
constexpr uint32_t kShardCounts[] = {2, 3, 4};
#endif

// F32 must be within 1e-4 of the largest logit. Otherwise the reference tells how far the logits
// move when it rounds as the engine does (activations to bf16 or to q8_0). The two roundings are
// independent draws of that size, so their difference is sqrt(2) of it, and the bound allows twice
// that. F16 weights take f32 activations.
//
// All levels follow one chain of operations, so they agree to the bit. The exception is BF16
// weights: AVX-512 sums pairs in its own way (vdpbf16ps). A sum that then falls on the other side
// of a rounding boundary moves the logits as much as that rounding does.
TEST_P(Golden, EveryIsaMeetsTheReferenceAndTheOthers) {
  const GoldenModel& model = GetParam();
  double largest = 0;
  for (float logit : model.logits)
    largest = std::max(largest, std::abs(static_cast<double>(logit)));
  std::vector<float> first;
  for (Isa isa : available_isas(detect_cpu_features())) {
    SCOPED_TRACE(isa_name(isa));
    std::vector<float> logits = run_model({.isa = isa, .threads = 2});
    if (first.empty()) first = logits;
    Difference d = difference(logits, model.logits);
    if (model.quantised) {
      EXPECT_LT(d.rms, 2.83 * model.activation_q8_0.rms * model.logit_std);
      EXPECT_LT(d.max, 2.83 * model.activation_q8_0.max * model.logit_std);
    } else if (model.bf16) {
      EXPECT_LT(d.rms, 2.83 * model.activation_bf16.rms * model.logit_std);
      EXPECT_LT(d.max, 2.83 * model.activation_bf16.max * model.logit_std);
    } else {
      EXPECT_LT(d.max, 1e-4 * largest);
    }
    if (model.bf16) {
      EXPECT_LT(difference(first, logits).rms, model.activation_bf16.rms * model.logit_std);
    } else {
      EXPECT_TRUE(same_bits(first, logits));
    }
  }
}

TEST_P(Golden, PackedWeightsDoNotDependOnThreads) {
  for (uint32_t shards : {1u, 2u}) {
    const std::unique_ptr<Engine> first = load(GetParam(), {.threads = shards, .shards = shards});
    for (uint32_t each : {2u, 5u}) {
      RunOptions run{.threads = each * shards, .shards = shards};
      run.isa = available_isas(detect_cpu_features()).back();
      const std::unique_ptr<Engine> other = load(GetParam(), run);
      for (uint32_t s = 0; s < shards; ++s) {
        const Arena& expected = first->model()->arenas()[s];
        const Arena& packed = other->model()->arenas()[s];
        ASSERT_EQ(packed.used(), expected.used());
        EXPECT_EQ(0, std::memcmp(packed.data(), expected.data(), expected.used()))
            << "shard " << s << " of " << shards << ", " << each << " threads each";
      }
    }
  }
}

// The test takes float models only: rounded activations would hide the effect of the cache.
TEST_P(FloatGolden, KvTypesMoveLogitsAsTheirRoundingDoes) {
  const GoldenModel& model = GetParam();
  Isa isa = available_isas(detect_cpu_features()).back();
  std::vector<float> exact = run_model({.isa = isa});
  for (KvType type : {KvType::kF16, KvType::kBF16, KvType::kQ8_0}) {
    double moved = difference(run_model({.isa = isa, .kv = type}), exact).rms;
    EXPECT_NEAR(moved / model.kv_move(type), 1, GoldenModel::kKvSlack) << kv_type_name(type);
  }
}

TEST_P(Golden, BitsDoNotDependOnThreadsChunksGroupsOrSync) {
  for (Isa isa : compared_levels(GetParam())) {
    std::vector<float> one = run_model({.isa = isa});
    EXPECT_TRUE(same_bits(one, run_model({.isa = isa, .threads = 3}))) << isa_name(isa);
    EXPECT_TRUE(same_bits(one, run_model({.isa = isa, .chunk = 1}))) << isa_name(isa);
    EXPECT_TRUE(same_bits(one, run_model({.isa = isa, .threads = 2, .chunk = 7})));
    EXPECT_TRUE(same_bits(
        one,
        run_model({.isa = isa, .threads = 3, .prefill_groups = 2, .decode_groups = 3, .chunk = 5})))
        << isa_name(isa);
    std::vector<float> two = run_model({.isa = isa, .threads = 2, .shards = 2});
    for (uint32_t groups : {1u, 4u}) {
      RunOptions run{.isa = isa,
                     .threads = 4,
                     .shards = 2,
                     .prefill_groups = groups,
                     .decode_groups = 2,
                     .chunk = 9};
      EXPECT_TRUE(same_bits(two, run_model(run))) << isa_name(isa) << " " << groups;
    }
    RunOptions uneven{
        .isa = isa, .threads = 5, .prefill_groups = 3, .decode_groups = 4, .chunk = 17};
    EXPECT_TRUE(same_bits(one, run_model(uneven))) << isa_name(isa);
    RunOptions lockstep{.isa = isa,
                        .threads = 4,
                        .shards = 2,
                        .decode_groups = 1,
                        .chunk = 21,
                        .sync = GroupSync::kLockstep};
    EXPECT_TRUE(same_bits(two, run_model(lockstep))) << isa_name(isa);
  }
}

// Shards that share a KV head have a copy of it each. The plans have groups of several shards, one
// group on each shard, and two groups on each, of which one may have no head.
TEST_P(SharedKvGolden, BitsDoNotDependOnWhoWorksOnCopies) {
  const GoldenModel& model = GetParam();
  for (Isa isa : compared_levels(model)) {
    for (uint32_t shards : kShardCounts) {
      if (!share_kv_heads(model, shards)) continue;
      auto bits = [&](uint32_t threads, uint32_t prefill, uint32_t decode, size_t chunk) {
        return run_model({.isa = isa,
                          .threads = threads,
                          .shards = shards,
                          .prefill_groups = prefill,
                          .decode_groups = decode,
                          .chunk = chunk});
      };
      SCOPED_TRACE(std::string(isa_name(isa)) + ", shards: " + std::to_string(shards));
      std::vector<float> one = bits(shards, 1, 1, 64);
      EXPECT_TRUE(same_bits(one, bits(shards, shards, 1, 7)));
      EXPECT_TRUE(same_bits(one, bits(shards, 1, shards, 1)));
      EXPECT_TRUE(same_bits(one, bits(2 * shards, 2 * shards, shards, 11)));
      EXPECT_TRUE(same_bits(one, bits(2 * shards, shards, 2 * shards, 3)));
    }
  }
}

TEST_P(Golden, BitsStayWhereEveryStepHasAnotherPlan) {
  const Isa isa = available_isas(detect_cpu_features()).back();
  for (uint32_t shards : {1u, 2u}) {
    const std::vector<float> one = run_model({.isa = isa, .threads = 2, .shards = shards});
    for (size_t chunk : compared_chunks(GetParam(), shards)) {
      RunOptions run{.isa = isa, .threads = 4, .shards = shards, .chunk = chunk};
      run.prefill_groups = run.decode_groups = kMaxParts * shards;  // copies of latents for all
      run.plan_seed = 1 + static_cast<uint32_t>(chunk);
      EXPECT_TRUE(same_bits(one, run_model(run))) << shards << " shards, " << chunk;
    }
  }
}

TEST_P(Golden, ShardsChangeTheLastBitsOnlyAndPlansOverThemNone) {
  const GoldenModel& model = GetParam();
  for (Isa isa : compared_levels(model)) {
    std::vector<float> one = run_model({.isa = isa});
    for (uint32_t shards : kShardCounts) {
      SCOPED_TRACE(std::string(isa_name(isa)) + ", shards: " + std::to_string(shards));
      RunOptions run{.isa = isa, .threads = shards, .shards = shards};
      std::vector<float> cut = run_model(run);
      EXPECT_LT(difference(one, cut).rms, model.shard_bound());
      run.prefill_groups = 2;  // of several shards each, while decode has one group a shard
      run.chunk = 9;
      EXPECT_TRUE(same_bits(cut, run_model(run)));
      run.decode_groups = 1;
      run.sync = GroupSync::kLockstep;
      EXPECT_TRUE(same_bits(cut, run_model(run)));
    }
  }
}

// Tiles, slices, tasks and the division of K change no bit.
TEST_P(Golden, SameBitsUnderRandomSchedules) {
  const Isa isa = available_isas(detect_cpu_features()).back();
  for (uint32_t shards : {1u, 2u}) {
    const std::vector<float> expected = run_model({.isa = isa, .threads = 2, .shards = shards});
    for (uint32_t seed = 1; seed <= 4; ++seed) {
      RunOptions run{.isa = isa, .threads = 2, .shards = shards, .schedules = seed};
      run.chunk = seed % 2 == 0 ? 64 : seed;
      if (seed == 4) run.decode_groups = run.threads = run.prefill_groups = 2 * shards;
      EXPECT_TRUE(same_bits(expected, run_model(run))) << "seed " << seed << ", shards " << shards;
    }
  }
}

// Each expert lies whole on one shard. The group that computes it changes no bit; cutting experts
// changes the last bits.
TEST_P(ExpertGolden, SpreadOverShards) {
  const GoldenModel& model = GetParam();
  const Isa isa = available_isas(detect_cpu_features()).back();
  for (uint32_t shards : kShardCounts) {
    RunOptions run{.isa = isa, .threads = shards, .shards = shards};
    std::vector<float> cut = run_model(run);
    run.experts = ExpertCut::kSpread;
    std::vector<float> spread = run_model(run);
    EXPECT_LT(difference(cut, spread).rms, model.shard_bound()) << shards;
    run.prefill_groups = 1;
    run.chunk = 5;
    EXPECT_TRUE(same_bits(spread, run_model(run))) << shards;
    run.threads = run.decode_groups = 2 * shards;
    run.chunk = 3;
    EXPECT_TRUE(same_bits(spread, run_model(run))) << shards;
  }
}

// Some tokens' rows are expanded, and some after them are not. Both compute the same function, and
// a row's form alone determines its bits.
TEST_P(LatentGolden, ExpandedRowsMeetTheReference) {
  const GoldenModel& model = GetParam();
  const auto expanded = static_cast<uint32_t>(model.tokens.size() * 5 / 8);
  std::vector<float> first;
  for (Isa isa : available_isas(detect_cpu_features())) {
    SCOPED_TRACE(isa_name(isa));
    std::vector<float> logits = run_model({.isa = isa, .threads = 2, .expanded = expanded});
    if (first.empty()) first = logits;
    EXPECT_LT(difference(logits, model.logits).rms, model.reference_bound().rms);
    EXPECT_LT(difference(logits, model.logits).max, model.reference_bound().max);
    if (!model.bf16) {
      EXPECT_TRUE(same_bits(first, logits));
    }
  }
  const std::vector<float> absorbed = run_model({.threads = 2});
  EXPECT_FALSE(same_bits(first, absorbed));
}

TEST_P(LatentGolden, BitsOfExpandedRowsDependOnTheirFormAlone) {
  const GoldenModel& model = GetParam();
  const auto expanded = static_cast<uint32_t>(model.tokens.size() * 5 / 8);
  const Isa isa = available_isas(detect_cpu_features()).back();
  auto bits = [&](RunOptions run) {
    run.isa = isa;
    run.expanded = expanded;
    return run_model(run);
  };
  std::vector<float> one = bits({});
  EXPECT_TRUE(same_bits(one, bits({.threads = 3})));
  EXPECT_TRUE(same_bits(one, bits({.chunk = 1})));
  EXPECT_TRUE(same_bits(one, bits({.threads = 2, .chunk = 7})));
  EXPECT_TRUE(
      same_bits(one, bits({.threads = 3, .prefill_groups = 2, .decode_groups = 3, .chunk = 5})));
  std::vector<float> two = bits({.threads = 2, .shards = 2});
  EXPECT_LT(difference(one, two).rms, model.shard_bound());
  EXPECT_TRUE(same_bits(
      two, bits({.threads = 4, .shards = 2, .prefill_groups = 4, .decode_groups = 2, .chunk = 9})));
}

// Folders of Hugging Face's hub give the same bits as the GGUF file with the same weights.
TEST_P(FolderGolden, MeetsTheReferenceAndItsTwin) {
  const GoldenModel& model = GetParam();
  for (Isa isa : available_isas(detect_cpu_features())) {
    if (isa == Isa::kReference) continue;
    SCOPED_TRACE(isa_name(isa));
    std::vector<float> logits = run_model({.isa = isa, .threads = 2});
    EXPECT_LT(difference(logits, model.logits).rms, model.reference_bound().rms);
    EXPECT_LT(difference(logits, model.logits).max, model.reference_bound().max);
    if (model.twin.empty()) continue;
    GoldenModel twin = model;
    twin.path = std::filesystem::path(model.path).parent_path() / (model.twin + ".gguf");
    EXPECT_TRUE(same_bits(logits, run_model(twin, {.isa = isa, .threads = 2})));
  }
}

// Shards begin inside groups of columns that share scales.
TEST_P(CodeGolden, CutsMoveTheLastBitsOnly) {
  const GoldenModel& model = GetParam();
  const Isa isa = available_isas(detect_cpu_features()).back();
  const std::vector<float> one = run_model({.isa = isa});
  const std::vector<float> two = run_model({.isa = isa, .threads = 2, .shards = 2});
  EXPECT_LT(difference(one, two).rms, model.shard_bound());
}

// Some of the models have products that first gather columns of their input into another order,
// from one shard or from all.
TEST_P(CodeGolden, BitsDoNotDependOnThreadsChunksOrGroups) {
  auto bits = [&](RunOptions run) {
    run.isa = available_isas(detect_cpu_features()).back();
    return run_model(run);
  };
  const std::vector<float> one = bits({});
  EXPECT_TRUE(same_bits(one, bits({.threads = 2, .chunk = 1})));
  EXPECT_TRUE(
      same_bits(one, bits({.threads = 3, .prefill_groups = 2, .decode_groups = 3, .chunk = 7})));
  const std::vector<float> two = bits({.threads = 2, .shards = 2});
  EXPECT_TRUE(same_bits(
      two, bits({.threads = 4, .shards = 2, .prefill_groups = 4, .decode_groups = 2, .chunk = 5})));
}

INSTANTIATE_TEST_SUITE_P(Codes, FolderGolden, testing::ValuesIn(read_golden_set("hf_code_models")),
                         golden_test_name);
INSTANTIATE_TEST_SUITE_P(Codes, CodeGolden, testing::ValuesIn(read_golden_set("hf_code_models")),
                         golden_test_name);
INSTANTIATE_TEST_SUITE_P(Models, FolderGolden, testing::ValuesIn(read_golden_set("hf_models")),
                         golden_test_name);
INSTANTIATE_TEST_SUITE_P(Models, Golden, testing::ValuesIn(decoders()), golden_test_name);
INSTANTIATE_TEST_SUITE_P(Experts, Golden, testing::ValuesIn(read_golden_set("moe_models")),
                         golden_test_name);
INSTANTIATE_TEST_SUITE_P(Models, ExpertGolden, testing::ValuesIn(read_golden_set("moe_models")),
                         golden_test_name);
INSTANTIATE_TEST_SUITE_P(Models, LatentGolden, testing::ValuesIn(read_golden_set("mla_models")),
                         golden_test_name);
INSTANTIATE_TEST_SUITE_P(Models, SharedKvGolden, testing::ValuesIn(shared_kv_models()),
                         golden_test_name);
INSTANTIATE_TEST_SUITE_P(Models, FloatGolden, testing::ValuesIn(float_models()), golden_test_name);

}  // namespace
}  // namespace hearth
