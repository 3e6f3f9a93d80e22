// Tests of prompts streamed through an accelerator. Their pages and the logits after them have the
// bits of the cores, for all golden models that can be streamed. That holds for any number of rows
// in a pass, berths, ring of experts, kept layers, shards, and texts beside each other.
// HEARTH_ALL_STREAMS in the environment draws shapes and texts for every model, for the shaders
// too.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>
#include <string_view>

#include "accelerator/find_accelerators.h"
#include "accelerator/virtual/virtual_accelerator.h"
#include "base/error.h"
#include "counted_accelerator.h"
#include "engine/engine.h"
#include "golden_set.h"
#include "hybrid/accelerator_layers.h"
#include "hybrid/prefill_pass.h"
#include "hybrid/streamer.h"
#include "models/registry.h"
#include "streaming.h"

namespace hearth {
namespace {

constexpr uint32_t kDrawnShapes = 6;  // a model, with HEARTH_ALL_STREAMS; one for the shaders
constexpr uint32_t kLongestDrawn = 700;

struct Shape {
  uint32_t shards = 1;
  KvType kv = KvType::kF32;
  StreamPlan plan = {.rows = 128,
                     .pages = 32,
                     .kept = 0,
                     .berths = 2,
                     .experts = 2,
                     .expert_batch = 1,
                     .ring_grows = true};
  uint32_t context = 448;
  ExpertCut experts = ExpertCut::kCut;
  ExpandRule expand = {.tail = 40, .step = 24};  // used by models with latents
  uint32_t copies = 1;                           // copies of latents in each shard
};

std::unique_ptr<Engine> cores(const std::string& path, const Shape& shape) {
  ModelSource source = open_model_source(path);
  EngineOptions options;
  options.shards = shape.shards;
  options.threads = options.decode_groups = shape.shards * shape.copies;
  options.expand = shape.expand;
  options.context = shape.context;
  options.sequences = 8;
  options.kv_type = shape.kv;
  options.experts = shape.experts;
  options.prefill_rows = 64;
  options.decode_rows = 4;
  return std::make_unique<Engine>(source, make_spec(source),
                                  Machine::invented(shape.shards, shape.copies), plain_level(),
                                  options);
}

// A prompt. The cores compute its first tokens.
struct Text {
  std::vector<int32_t> tokens;
  uint32_t by_cores = 0;
  bool adopts = false;  // takes the pages that other texts have of its beginning
};

// Returns the prompts of a test. In models with latents, passes expand none of the rows that they
// compute of the 70-token prompt, nor those at the end of the prompt before it.
std::vector<Text> texts_of(const GoldenModel& model, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<Text> texts;
  for (const auto& [length, by_cores] :
       {std::pair{2u, 0u}, {65u, 0u}, {130u, 64u}, {70u, 40u}, {300u, 0u}, {210u, 129u}}) {
    Text text{model.tokens, by_cores};
    while (text.tokens.size() < length) {
      text.tokens.push_back(static_cast<int32_t>(random() % model.vocabulary));
    }
    text.tokens.resize(length);
    texts.push_back(std::move(text));
  }
  return texts;
}

uint32_t draw(std::mt19937& random, uint32_t from, uint32_t to) {
  return from + static_cast<uint32_t>(random() % (to - from + 1));
}

Shape drawn_shape(std::mt19937& random) {
  Shape shape{.shards = draw(random, 1, 3), .context = kLongestDrawn};
  shape.kv = static_cast<KvType>(random() % kKvTypes);
  shape.expand = {.tail = draw(random, 0, 300), .step = draw(random, 0, 200)};
  shape.copies = draw(random, 1, 2);
  shape.plan = {.rows = draw(random, kMinPassRows, kLongestDrawn),
                .pages = draw(random, pages_for(kLongestDrawn), 40),
                .kept = draw(random, 0, 3),
                .berths = draw(random, 1, 4),
                .expert_batch = draw(random, 1, 4)};
  shape.plan.experts = draw(random, 1, 8) * shape.plan.expert_batch;
  shape.plan.kept_batch = 5 - shape.plan.expert_batch;
  shape.experts = random() % 2 == 0 ? ExpertCut::kCut : ExpertCut::kSpread;
  return shape;
}

// Draws texts. Some begin like the text before them.
std::vector<Text> drawn_texts(const GoldenModel& model, std::mt19937& random) {
  std::vector<Text> texts(draw(random, 1, 6));
  for (size_t i = 0; i < texts.size(); ++i) {
    Text& text = texts[i];
    text.adopts = i > 0 && random() % 2 == 0;
    if (text.adopts) text.tokens = texts[i - 1].tokens;
    const uint32_t length = draw(random, 2, kLongestDrawn);
    while (text.tokens.size() < length) {
      text.tokens.push_back(static_cast<int32_t>(random() % model.vocabulary));
    }
    text.tokens.resize(length);
    text.by_cores = random() % 2 == 0 ? 0 : draw(random, 0, length - 2);
  }
  return texts;
}

struct Outcome {
  std::vector<std::vector<float>> logits;                  // by text: after its last token
  std::vector<std::vector<std::vector<std::byte>>> pages;  // by text: its full pages
};

// Returns the bytes of a sequence's page `p` in all layers and shards. Layers that keep window
// pages give these.
std::vector<std::byte> page_bytes(const Engine& engine, const Sequence& sequence, size_t p) {
  const PassTarget target = engine.pass_target();
  std::vector<std::byte> bytes;
  for (uint32_t s = 0; s < target.model->weights().shard_count(); ++s) {
    for (uint32_t layer = 0; layer < engine.spec().layers.size(); ++layer) {
      const bool full = target.kv->kind(layer) == KvKind::kFull;
      if (!full && p < sequence.window_begin()) continue;
      const uint32_t page = (full ? sequence.pages() : sequence.window_pages())[p];
      const size_t size = target.kv->page_bytes(s, layer);
      const std::byte* at = target.kv->page(s, layer, page, 0).k;
      bytes.insert(bytes.end(), at, at + size);
    }
  }
  return bytes;
}

Outcome outcome_of(Engine& engine, const std::vector<Text>& texts,
                   std::vector<std::unique_ptr<Sequence>>& sequences) {
  Outcome outcome;
  for (size_t t = 0; t < texts.size(); ++t) {
    Sequence& sequence = *sequences[t];
    const std::span<const int32_t> tokens = texts[t].tokens;
    engine.prefill(sequence, tokens.subspan(sequence.length()));
    const std::span<const float> row = engine.logits(0);
    outcome.logits.emplace_back(row.begin(), row.end());
    auto& pages = outcome.pages.emplace_back();
    for (size_t p = 0; p < tokens.size() / kPagePositions; ++p) {
      pages.push_back(page_bytes(engine, sequence, p));
    }
  }
  return outcome;
}

// Begins the prompts. A text that adopts pages leaves at least two tokens to be computed.
std::vector<std::unique_ptr<Sequence>> begin_texts(Engine& engine, const std::vector<Text>& texts) {
  std::vector<std::unique_ptr<Sequence>> sequences;
  for (const Text& text : texts) {
    const std::span<const int32_t> tokens = text.tokens;
    const auto length_of = static_cast<uint32_t>(tokens.size());
    Sequence& sequence = *sequences.emplace_back(engine.new_sequence(length_of));
    if (text.adopts) sequence.adopt_prefix(tokens.first(tokens.size() - 1));
    const uint32_t length = sequence.length();
    if (text.by_cores > length) {
      engine.prefill(sequence, tokens.first(text.by_cores).subspan(length));
    }
    sequence.publish();
  }
  return sequences;
}

Outcome by_cores(const GoldenModel& model, const Shape& shape, const std::vector<Text>& texts) {
  const std::unique_ptr<Engine> engine = cores(model.path, shape);
  auto sequences = begin_texts(*engine, texts);
  return outcome_of(*engine, texts, sequences);
}

Outcome streamed(const GoldenModel& model, const Shape& shape, const std::vector<Text>& texts,
                 const std::function<std::shared_ptr<Accelerator>()>& open) {
  const std::unique_ptr<Engine> engine = cores(model.path, shape);
  auto sequences = begin_texts(*engine, texts);
  Notices ends;
  Streamer streamer(
      [&] { return std::make_unique<PrefillPass>(engine->pass_target(), open(), shape.plan); },
      {.threshold = 1, .on_done = [&] { ends.notify(); }});
  for (size_t t = 0; t < texts.size(); ++t) {
    const std::span<const int32_t> tokens = texts[t].tokens;
    const uint32_t from = sequences[t]->length();
    const auto rest = tokens.subspan(from, tokens.size() - 1 - from);
    sequences[t]->grow_for_passes(rest);
    EXPECT_TRUE(streamer.takes(static_cast<uint32_t>(rest.size()), from, 0));
    streamer.begin({t + 1,
                    {rest.begin(), rest.end()},
                    from,
                    sequences[t]->pages(),
                    sequences[t]->window_pages(),
                    sequences[t]->expanded()});
  }
  for (size_t ended = 0; ended < texts.size();) {
    const uint64_t seen = ends.count();
    const auto done = streamer.take_done();
    for (const auto& one : done) EXPECT_EQ(one.outcome, PromptStreamer::Outcome::kFilled);
    ended += done.size();
    if (done.empty()) ends.wait_for(seen + 1);
  }
  for (const auto& sequence : sequences) sequence->finish_passes();
  EXPECT_EQ(streamer.figures().prompts, texts.size());
  return outcome_of(*engine, texts, sequences);
}

void expect_same(const Outcome& a, const Outcome& b) {
  for (size_t t = 0; t < a.logits.size(); ++t) {
    EXPECT_TRUE(same_bits(a.logits[t], b.logits[t])) << "text " << t;
    EXPECT_EQ(a.pages[t], b.pages[t]) << "text " << t;
  }
}

uint32_t letters_of(const GoldenModel& model) {
  return std::accumulate(model.name.begin(), model.name.end(), uint32_t{0});
}

using OpenSeeded = std::function<std::shared_ptr<Accelerator>(uint32_t seed)>;

// Compares `count` drawn shapes with drawn texts.
void expect_same_in_drawn_shapes(const GoldenModel& model, uint32_t count, const OpenSeeded& open) {
  for (uint32_t i = 0; i < count && !testing::Test::HasFailure(); ++i) {
    const uint32_t seed = letters_of(model) + i;
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    const Shape shape = drawn_shape(random);
    const std::vector<Text> texts = drawn_texts(model, random);
    expect_same(by_cores(model, shape, texts),
                streamed(model, shape, texts, [&] { return open(seed); }));
  }
}

bool is_fp8(const GoldenModel& model) { return model.name.find("-fp8") != std::string::npos; }

class PrefillPassGolden : public testing::TestWithParam<GoldenModel> {
 protected:
  void SetUp() override {
    ModelSource source = open_model_source(GetParam().path);
    const ModelSpec spec = make_spec(source);
    has_experts_ = spec.expert_count() > 0;
    const std::string why = why_no_prefill(spec);
    if (!why.empty()) GTEST_SKIP() << why;
    has_latents_ = spec.has_latents();
  }

  bool has_experts_ = false;
  bool has_latents_ = false;
};

std::vector<GoldenModel> golden_decoders() {
  std::vector<GoldenModel> models = read_golden_set();
  for (GoldenModel& model : read_golden_set("moe_models")) models.push_back(std::move(model));
  return models;
}

TEST_P(PrefillPassGolden, GivesTheBitsOfTheCores) {
  const GoldenModel& model = GetParam();
  const std::vector<Text> texts = texts_of(model, 1);
  // Every shader has a test of its own with all types. So one shape is enough for a quantised
  // model, and two for others. Of the models with latents and no experts, two get all shapes.
  const auto by_name = static_cast<uint32_t>(model.name.size());
  uint32_t seed = 0;
  for (const Shape& shape :
       {Shape{},
        Shape{.shards = 3,
        .kv = KvType::kF16,
        .plan = {.rows = 400,
                .pages = 40,
                .kept = has_experts_ ? 0u : 1u,
                .berths = 1,
                .experts = 4,
                .expert_batch = 2,
                .ring_grows = true},
        .experts = ExpertCut::kSpread,
        .copies = 2},
        Shape{2,
              KvType::kQ8_0,
              {.rows = 64, .pages = 12, .kept = 0, .berths = 3, .experts = 9, .expert_batch = 3}},
        Shape{1,
              KvType::kBF16,
              {.rows = 1000, .pages = 40, .kept = 100, .berths = 0, .kept_batch = 2}}}) {
    ++seed;
    const bool all = has_latents_ && !has_experts_ && !model.bf16;
    if (!all && (seed + by_name) % (model.quantised || is_fp8(model) ? 4 : 2) != 0) continue;
    const VirtualOptions options{.seed = seed,
                                 .queues = 1 + seed % 2,
                                 .second_computes = seed % 4 == 1,
                                 .imports = seed != 2};
    expect_same(by_cores(model, shape, texts), streamed(model, shape, texts, [&] {
                  return std::make_shared<VirtualAccelerator>(options);
                }));
  }
}

class PrefillPassDrawn : public PrefillPassGolden {};

std::vector<GoldenModel> drawn_of(std::vector<GoldenModel> models) {
  std::erase_if(models, [](const GoldenModel& model) {
    return !all_streams() && letters_of(model) % 3 != 0;
  });
  return models;
}

TEST_P(PrefillPassDrawn, GivesTheBitsOfTheCores) {
  expect_same_in_drawn_shapes(GetParam(), all_streams() ? kDrawnShapes : 1, [](uint32_t seed) {
    return std::make_shared<VirtualAccelerator>(VirtualOptions{.seed = seed,
                                                               .queues = 1 + seed % 2,
                                                               .second_computes = seed % 3 == 0,
                                                               .imports = seed % 5 != 0});
  });
}

// The quantised decoders, except those of Llama and all but one of Qwen3 MoE; with
// HEARTH_ALL_STREAMS all decoders. Every shader has a test of its own for the types.
class PrefillPassShaders : public PrefillPassGolden {};

std::vector<GoldenModel> shader_models() {
  std::vector<GoldenModel> models = golden_decoders();
  std::erase_if(models, [](const GoldenModel& model) {
    const bool left_out = model.name.starts_with("llama-") ||
                          (model.name.starts_with("qwen3moe-") && model.name != "qwen3moe-q4_0");
    return !all_streams() && (!model.quantised || left_out);
  });
  return models;
}

TEST_P(PrefillPassShaders, GiveTheBitsOfTheCores) {
  const FoundAccelerators found = find_accelerators();
  if (found.all.empty()) GTEST_SKIP() << found.why_none;
  const GoldenModel& model = GetParam();
  const std::vector<Text> texts = texts_of(model, 2);
  const Shape shape{2,
                    KvType::kF16,
                    {.rows = 200,
                     .pages = 40,
                     .kept = has_experts_ ? 0u : 1u,
                     .berths = 2,
                     .experts = 4,
                     .expert_batch = 2}};
  const Outcome expected = by_cores(model, shape, texts);
  for (const FoundAccelerator& one : found.all) {
    if (!one.refused.empty()) continue;
    expect_same(expected, streamed(model, shape, texts, [&] { return one.open(); }));
    if (!all_streams()) continue;
    expect_same_in_drawn_shapes(model, 1, [&](uint32_t) { return one.open(); });
  }
}

// Passes with fewer rows than there is room for, one after another, give the bits of the cores.
// Here no buffer may be longer than the longest value.
TEST(PrefillPassPieces, GiveTheBitsOfTheCores) {
  uint32_t compared = 0;
  for (const char* set : {"models", "moe_models", "mla_models"}) {
    for (const GoldenModel& model : read_golden_set(set)) {
      static constexpr std::string_view kNames[] = {"llama-f32", "qwen3moe-bf16", "deepseek2-bf16",
                                                    "deepseek2-q8_0-dense"};
      if (std::ranges::count(kNames, model.name) == 0) continue;
      SCOPED_TRACE(model.name);
      ++compared;
      const Shape shape{2,
                        KvType::kF16,
                        {.rows = 400,
                         .pages = 8,
                         .kept = 1,
                         .berths = 2,
                         .experts = 4,
                         .expert_batch = 2,
                         .kept_batch = 1,
                         .ring_grows = true}};
      const std::unique_ptr<Engine> engine = cores(model.path, shape);
      const PieceNeeds needs = piece_needs([&](const std::shared_ptr<Accelerator>& gpu) {
        PrefillPass(engine->pass_target(), gpu, shape.plan);
      });
      EXPECT_GT(needs.values, needs.min_piece) << "one piece does not hold all values";
      const std::vector<Text> texts = texts_of(model, 3);
      expect_same(by_cores(model, shape, texts), streamed(model, shape, texts, [&] {
                    return std::make_shared<VirtualAccelerator>(
                        VirtualOptions{.seed = compared, .allocation_bytes = needs.min_piece});
                  }));
    }
  }
  EXPECT_EQ(compared, 4u);
}

TEST(PrefillPassPlan, IsWhatAPassTakes) {
  for (const GoldenModel& model : read_golden_set("moe_models")) {
    if (model.name != "qwen3moe-bf16" && model.name != "qwen3moe-q8_0") continue;
    SCOPED_TRACE(model.name);
    const std::unique_ptr<Engine> engine = cores(model.path, {.shards = 2});
    const PassTarget target = engine->pass_target();
    const AcceleratorFacts facts = VirtualAccelerator(VirtualOptions{}).facts();
    // Each of the two shards has a part of all seven experts. Each part is a segment of its own.
    const StreamPlan longest = plan_stream(target, facts, {.rows = 0, .memory = 0, .kept = 0});
    EXPECT_EQ(longest.experts, 14u);
    EXPECT_EQ(longest.expert_batch, 1u) << "of a segment";
    for (const auto& [rows, ring] :
         {std::pair{64u, 14u}, {100u, 2u}, {100u, 5u}, {100u, 14u}, {2048u, 2u}, {8192u, 14u}}) {
      SCOPED_TRACE(testing::Message() << rows << " rows, a ring of " << ring);
      const StreamPlan plan =
          plan_stream(target, facts, {.rows = rows, .memory = 0, .kept = 0, .experts = ring});
      EXPECT_EQ(plan.experts, ring);
      const auto gpu = std::make_shared<CountedAccelerator>(VirtualOptions{});
      const PrefillPass pass(target, gpu, plan);
      EXPECT_LE(gpu->bytes(), plan.bytes());
      EXPECT_GE(static_cast<double>(gpu->bytes()), 0.98 * static_cast<double>(plan.bytes()));
    }
    try {
      plan_stream(target, facts, {.rows = 0, .memory = longest.berth_bytes, .kept = 0});
      ADD_FAILURE() << "there is no room";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kUsage);
      EXPECT_NE(std::string_view(error.what()).find(" and 2 of "), std::string_view::npos)
          << error.what();
    }
  }
}

// Models with latents, each chosen for a property that no other has. Routing and types have tests
// of their own.
std::vector<GoldenModel> latent_models() {
  static constexpr std::string_view kNames[] = {
      "deepseek2-f32-dense",   // low-rank queries
      "deepseek2-f32-top1",    // one head: shards without any
      "deepseek2-bf16",        // experts; activations rounded to BF16
      "deepseek2-q8_0-dense",  // heads that begin within panels
      "deepseek2-q8_0-wide",   // the lengths of released models
      "deepseek2-q4_0",        // queries of the row itself; a key's matrix in floats
      "deepseek2-q4_k",        // activations of two formats
  };
  std::vector<GoldenModel> models = read_golden_set("mla_models");
  std::erase_if(models, [](const GoldenModel& model) {
    return !all_streams() && std::ranges::count(kNames, model.name) == 0;
  });
  return models;
}

std::vector<GoldenModel> latent_shader_models() {
  std::vector<GoldenModel> models = latent_models();
  std::erase_if(models, [](const GoldenModel& model) {
    return !all_streams() && model.name != "deepseek2-q8_0-dense";
  });
  return models;
}

// Returns the directories in FP8. The passes give the bits of levels without instructions for BF16.
// hf-deepseek3-fp8 is left out unless HEARTH_ALL_STREAMS is set: other models have its latents and
// its experts.
std::vector<GoldenModel> fp8_models() {
  std::vector<GoldenModel> models = read_golden_set("hf_models");
  std::erase_if(models, [](const GoldenModel& model) {
    return !is_fp8(model) || (!all_streams() && model.name == "hf-deepseek3-fp8");
  });
  return models;
}

// Returns two FP8 models: with scales of blocks, and with scales of rows.
std::vector<GoldenModel> fp8_shader_models() {
  std::vector<GoldenModel> models = fp8_models();
  std::erase_if(models, [](const GoldenModel& model) {
    return !all_streams() && !model.name.starts_with("hf-llama-");
  });
  return models;
}

INSTANTIATE_TEST_SUITE_P(Latents, PrefillPassGolden, testing::ValuesIn(latent_models()),
                         golden_test_name);
INSTANTIATE_TEST_SUITE_P(Latents, PrefillPassDrawn, testing::ValuesIn(drawn_of(latent_models())),
                         golden_test_name);

INSTANTIATE_TEST_SUITE_P(Fp8, PrefillPassGolden, testing::ValuesIn(fp8_models()), golden_test_name);
INSTANTIATE_TEST_SUITE_P(Fp8, PrefillPassShaders, testing::ValuesIn(fp8_shader_models()),
                         golden_test_name);
INSTANTIATE_TEST_SUITE_P(Latents, PrefillPassShaders, testing::ValuesIn(latent_shader_models()),
                         golden_test_name);
INSTANTIATE_TEST_SUITE_P(Models, PrefillPassGolden, testing::ValuesIn(golden_decoders()),
                         golden_test_name);
INSTANTIATE_TEST_SUITE_P(Models, PrefillPassDrawn, testing::ValuesIn(drawn_of(golden_decoders())),
                         golden_test_name);
INSTANTIATE_TEST_SUITE_P(Models, PrefillPassShaders, testing::ValuesIn(shader_models()),
                         golden_test_name);

}  // namespace
}  // namespace hearth
