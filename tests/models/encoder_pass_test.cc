// Tests of encoders on an accelerator. They give the bits of the cores at levels without
// instructions for BF16, for texts in any order and number, on models cut into shards or whole. The
// virtual accelerator runs the command lists in random orders, the checker finds that they order
// enough, and software drivers run the shaders.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "accelerator/check_commands.h"
#include "accelerator/find_accelerators.h"
#include "accelerator/virtual/virtual_accelerator.h"
#include "base/error.h"
#include "counted_accelerator.h"
#include "engine/engine.h"
#include "golden_set.h"
#include "hybrid/accelerator_layers.h"
#include "hybrid/encoder_pass.h"
#include "hybrid/pass_memory.h"
#include "models/registry.h"

namespace hearth {
namespace {

// The engines that the passes are compared with have the same limits.
constexpr PassLimits kLimits{512, 200};

std::unique_ptr<Engine> cores(const GoldenModel& model, uint32_t shards) {
  ModelSource source = open_model_source(model.path);
  EngineOptions options;
  options.threads = options.shards = shards;
  options.context = 200;
  options.outputs = 1;
  options.hidden_rows = 512;
  return std::make_unique<Engine>(source, make_spec(source), Machine::invented(shards, 1),
                                  plain_level(), options);
}

// A step of some of the golden texts, laid out as an engine does.
class Step {
 public:
  Step(const GoldenModel& model, const std::vector<size_t>& texts) {
    std::vector<size_t> begins = {0};
    for (uint32_t length : model.texts) begins.push_back(begins.back() + length);
    for (size_t text : texts) {
      const auto first = static_cast<uint32_t>(tokens_.size());
      items_.push_back({first, model.texts[text], 0, nullptr});
      for (uint32_t i = 0; i < model.texts[text]; ++i) {
        tokens_.push_back(model.tokens[begins[text] + i]);
        positions_.push_back(i);
        row_items_.push_back(static_cast<uint32_t>(items_.size() - 1));
        if (!model.seconds.empty()) {
          const uint32_t second = model.seconds[text];  // 0: there is none
          second_.push_back(second != 0 && i >= second ? 1 : 0);
        }
        places_.push_back(begins[text] + i);
      }
    }
    outputs_.resize(tokens_.size());
    std::iota(outputs_.begin(), outputs_.end(), 0u);
    hidden_.resize(tokens_.size() * model.width);
  }

  StepView view() {
    StepView step;
    step.tokens = tokens_;
    step.positions = positions_;
    step.row_items = row_items_;
    step.items = items_;
    step.outputs = outputs_;
    step.hidden = hidden_.data();
    step.second = second_;
    return step;
  }
  // Copies the hidden states into `all`, in which all texts are in their own order.
  void copy_to(std::vector<float>* all) const {
    const size_t width = hidden_.size() / tokens_.size();
    for (size_t r = 0; r < tokens_.size(); ++r) {
      std::copy_n(&hidden_[r * width], width, &(*all)[places_[r] * width]);
    }
  }

 private:
  std::vector<int32_t> tokens_;
  std::vector<uint32_t> positions_, row_items_, outputs_;
  std::vector<StepItem> items_;
  std::vector<uint8_t> second_;
  std::vector<size_t> places_;
  std::vector<float> hidden_;
};

// Returns the hidden states of all texts, in steps of `at_once` texts, in an order drawn from a
// seed.
std::vector<float> pass_rows(const GoldenModel& model, EncoderPass& pass, size_t at_once,
                             uint32_t seed) {
  std::vector<size_t> order(model.texts.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::mt19937 random(seed);
  if (seed != 0) std::shuffle(order.begin(), order.end(), random);
  std::vector<float> rows(model.hidden.size());
  for (size_t done = 0; done < order.size(); done += at_once) {
    const auto begin = order.begin() + static_cast<ptrdiff_t>(done);
    const auto count = static_cast<ptrdiff_t>(std::min(at_once, order.size() - done));
    Step step(model, {begin, begin + count});
    pass.run(step.view());
    step.copy_to(&rows);
  }
  return rows;
}

class EncoderPassGolden : public testing::TestWithParam<GoldenModel> {
 protected:
  void SetUp() override { ASSERT_EQ(why_no_pass(cores(GetParam(), 1)->spec()), ""); }
};

TEST_P(EncoderPassGolden, GivesTheBitsOfTheCores) {
  const GoldenModel& model = GetParam();
  for (uint32_t shards : {1u, 3u}) {
    const std::unique_ptr<Engine> engine = cores(model, shards);
    const std::vector<float> expected = golden_rows(*engine, model, 64);
    EncoderPass pass(engine->model(),
                     std::make_shared<VirtualAccelerator>(VirtualOptions{.seed = shards}), kLimits);
    EXPECT_TRUE(same_bits(expected, pass_rows(model, pass, 64, 0))) << shards;
    EXPECT_TRUE(same_bits(expected, pass_rows(model, pass, 3, 1))) << shards;
  }
}

// Here no buffer may be longer than the longest value or matrix.
TEST_P(EncoderPassGolden, GivesThemInPieces) {
  const GoldenModel& model = GetParam();
  const std::unique_ptr<Engine> engine = cores(model, 1);
  const PieceNeeds needs = piece_needs(
      [&](const std::shared_ptr<Accelerator>& gpu) { EncoderPass(engine->model(), gpu, kLimits); });
  EXPECT_GT(needs.values, needs.min_piece) << "one piece does not hold all values";
  EncoderPass pass(
      engine->model(),
      std::make_shared<VirtualAccelerator>(VirtualOptions{.allocation_bytes = needs.min_piece}),
      kLimits);
  EXPECT_TRUE(same_bits(golden_rows(*engine, model, 64), pass_rows(model, pass, 3, 1)));
}

TEST_P(EncoderPassGolden, GivesThemByShadersToo) {
  const FoundAccelerators found = find_accelerators();
  if (found.all.empty()) GTEST_SKIP() << found.why_none;
  const GoldenModel& model = GetParam();
  for (const FoundAccelerator& one : found.all) {
    if (!one.refused.empty()) continue;
    for (uint32_t shards : {1u, 3u}) {
      const std::unique_ptr<Engine> engine = cores(model, shards);
      EncoderPass pass(engine->model(), one.open(), kLimits);
      EXPECT_TRUE(same_bits(golden_rows(*engine, model, 64), pass_rows(model, pass, 64, 2)))
          << one.facts.name << ", shards " << shards;
    }
  }
}

// Every order that the list allows gives the same bits, and no unwritten memory is read.
TEST_P(EncoderPassGolden, ItsListIsSound) {
  const GoldenModel& model = GetParam();
  const std::unique_ptr<Engine> engine = cores(model, 3);
  VirtualAccelerator accelerator(VirtualOptions{});
  const AcceleratorWeights weights(*engine->model(), accelerator);
  Step step(model, {0, 1});
  const StepView view = step.view();
  PassCommands commands;
  AcceleratorLayers layers(weights, kLimits.context, view, &commands);
  walk_model(engine->spec(), layers);
  commands.lay_out(UINT64_MAX, layers.last().at);
  const PassMemory memory(accelerator, commands);
  const Moment before{accelerator.make_timeline(), 0};
  const CommandList list = commands.placed_in(memory.buffers(), before);
  CommandsAround around;
  for (BufferId id = 0; id < memory.buffers().values[0]; ++id) {
    around.filled.push_back({.at = {id, 0}, .bytes = uint64_t{1} << 40, .writes = true});
  }
  for (const CommandFault& fault : check_commands(list, around)) ADD_FAILURE() << fault.text;
}

INSTANTIATE_TEST_SUITE_P(Models, EncoderPassGolden, testing::ValuesIn(read_golden_set("encoders")),
                         golden_test_name);

// Returns the hidden states of all rows of a step, even for models that an EncoderPass refuses. The
// head of a reranker is not applied to them.
std::vector<float> layers_rows(const Engine& engine, const StepView& step) {
  VirtualAccelerator accelerator(VirtualOptions{});
  const AcceleratorWeights weights(*engine.model(), accelerator);
  PassCommands commands;
  AcceleratorLayers layers(weights, kLimits.context, step, &commands);
  walk_model(engine.spec(), layers);
  const FloatRows last = layers.last();
  commands.lay_out(UINT64_MAX, last.at);
  const PassMemory memory(accelerator, commands);
  const PassCommands::Buffers& in = memory.buffers();
  commands.write_inputs(
      in, [&](const Place& to, std::span<const std::byte> bytes) { accelerator.write(to, bytes); });
  const TimelineId done = accelerator.make_timeline();
  accelerator.submit(commands.placed_in(in, {done, 0}));
  accelerator.wait({done, commands.moments()}, 20);
  const uint32_t width = engine.spec().hyper.width;
  std::vector<float> rows(size_t{step.rows()} * width);
  for (size_t r = 0; r < step.rows(); ++r) {
    accelerator.read(commands.place_in(in, last.at) + r * last.stride * sizeof(float),
                     std::as_writable_bytes(std::span(&rows[r * width], width)));
  }
  return rows;
}

// The two texts of a pair have different token types.
TEST(EncoderPass, KnowsTheTypesOfPairs) {
  uint32_t compared = 0;
  for (const GoldenModel& model : read_golden_set("rerankers")) {
    const std::unique_ptr<Engine> engine = cores(model, 3);
    if (!engine->spec().embedding.second_type) continue;
    std::vector<std::unique_ptr<Sequence>> sequences;
    std::vector<StepRequest> requests;
    std::vector<size_t> texts;
    std::span<const int32_t> left = model.tokens;
    for (size_t i = 0; i < model.texts.size(); ++i) {
      sequences.push_back(engine->new_sequence());
      requests.push_back(
          {sequences.back().get(), left.first(model.texts[i]), Want::kHidden, model.seconds[i]});
      texts.push_back(i);
      left = left.subspan(model.texts[i]);
    }
    engine->step(requests);
    std::vector<float> expected;
    for (size_t r = 0; r < model.tokens.size(); ++r) {
      const std::span<const float> row = engine->hidden(r);
      expected.insert(expected.end(), row.begin(), row.end());
    }
    EXPECT_TRUE(same_bits(expected, layers_rows(*engine, Step(model, texts).view())));
    ++compared;
  }
  EXPECT_GT(compared, 0u);
}

TEST(PassCommands, InputsAreMadeInPieces) {
  constexpr uint64_t kUnit = 3000, kUnits = 5000;
  const auto byte_at = [](uint64_t i) { return static_cast<std::byte>(i / 7); };
  const std::vector<std::byte> held(300, std::byte{1});
  PassCommands commands;
  commands.input(held);
  const Place made =
      commands.made_input(kUnit * kUnits, kUnit, [&](uint64_t first, std::span<std::byte> piece) {
        EXPECT_EQ(first % kUnit, 0u);
        EXPECT_EQ(piece.size() % kUnit, 0u);
        for (size_t i = 0; i < piece.size(); ++i) piece[i] = byte_at(first + i);
      });
  const Place behind = commands.input(held);
  const PassCommands::Buffers in = {0, 1, {}};
  std::vector<std::byte> all[] = {std::vector<std::byte>(commands.held_bytes()),
                                  std::vector<std::byte>(commands.made_bytes())};
  uint64_t most = 0;
  commands.write_inputs(in, [&](const Place& to, std::span<const std::byte> bytes) {
    ASSERT_LE(to.offset + bytes.size(), all[to.buffer].size());
    std::ranges::copy(bytes, all[to.buffer].begin() + static_cast<std::ptrdiff_t>(to.offset));
    most = std::max<uint64_t>(most, bytes.size());
  });
  EXPECT_LE(most, uint64_t{4} << 20);
  const auto at = [&](const Place& place) {
    const Place there = commands.place_in(in, place);
    return &all[there.buffer][there.offset];
  };
  EXPECT_TRUE(std::equal(held.begin(), held.end(), at(behind)));
  uint64_t differ = 0;
  for (uint64_t i = 0; i < kUnit * kUnits; ++i) differ += at(made)[i] == byte_at(i) ? 0 : 1;
  EXPECT_EQ(differ, 0u);
}

TEST(EncoderPass, RefusesWhatItDoesNotCompute) {
  const auto accelerator = std::make_shared<VirtualAccelerator>(VirtualOptions{});
  const std::vector<GoldenModel> models = read_golden_set();
  ModelSource source = open_model_source(models.at(0).path);
  EngineOptions options;
  options.threads = options.shards = 1;
  Engine engine(source, make_spec(source), Machine::invented(1, 1), plain_level(), options);
  EXPECT_THROW(EncoderPass(engine.model(), accelerator, kLimits), Error);
  uint32_t heads = 0;
  for (const GoldenModel& model : read_golden_set("rerankers")) {
    ModelSource ranked = open_model_source(model.path);
    const ModelSpec spec = make_spec(ranked);
    if (!spec.score) continue;
    EXPECT_NE(why_no_pass(spec), "") << model.name;
    ++heads;
  }
  EXPECT_GT(heads, 0u);
}

}  // namespace
}  // namespace hearth
