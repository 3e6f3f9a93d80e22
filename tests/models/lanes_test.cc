// Tests of engines that work at the same time in one process: two on one model that was loaded
// once, and two on models of their own. Each gives the same bits as when it works alone.
#include <gtest/gtest.h>

#include <barrier>
#include <optional>
#include <thread>
#include <utility>

#include "engine/engine.h"
#include "formats/gguf.h"
#include "same_bits.h"
#include "tiny_model.h"

namespace hearth {
namespace {

// A barrier at which two threads wait for each other in the midst of their steps.
using Meeting = std::barrier<>;

EngineOptions options_with(uint32_t threads, uint32_t shards, uint32_t groups) {
  EngineOptions options;
  options.threads = threads;
  options.shards = shards;
  options.prefill_groups = options.decode_groups = groups;
  options.context = 128;
  return options;
}

// Computes a prompt that begins with `first`, then decodes the likeliest tokens. Returns the last
// row of logits of every step. With a meeting, each step waits in its midst for the other thread's
// step.
std::vector<float> decode(Engine& engine, int32_t first, Meeting* meeting = nullptr) {
  constexpr uint32_t kPrompt = 21, kSteps = 40;
  const uint32_t vocabulary = engine.spec().hyper.vocabulary;
  std::vector<int32_t> tokens;
  for (uint32_t i = 0; i < kPrompt; ++i) {
    tokens.push_back(static_cast<int32_t>((static_cast<uint32_t>(first) + 7 * i) % vocabulary));
  }
  auto sequence = engine.new_sequence();
  std::vector<float> rows;
  for (uint32_t step = 0; step < kSteps; ++step) {
    bool met = meeting == nullptr;
    Engine::Abandon meet = [&] {
      if (!std::exchange(met, true)) meeting->arrive_and_wait();
      return false;
    };
    StepRequest request{sequence.get(), tokens, Want::kLast};
    EXPECT_TRUE(engine.step({&request, 1}, &meet));
    std::span<const float> row = engine.logits(0);
    rows.insert(rows.end(), row.begin(), row.end());
    tokens = {engine.best(0, 1, vocabulary)[0].token};
  }
  return rows;
}

class Lanes : public testing::Test {
 protected:
  std::unique_ptr<Engine> load(const TinyShape& shape, const EngineOptions& options) const {
    ModelSource source = parse_gguf(tiny_llama(shape), "tiny");
    return std::make_unique<Engine>(source, make_spec(source), machine_, isa_, options);
  }

  // This is made before a team pins the thread.
  const Machine machine_ = Machine::invented(2, 2);
  const Isa isa_ = available_isas(detect_cpu_features()).back();
};

// The second engine has other threads and groups, and a context and sequences of its own. It is
// made after the source was destroyed.
TEST_F(Lanes, TwoEnginesWorkOnOneModel) {
  std::unique_ptr<Engine> a = load({}, options_with(2, 2, 2));
  const std::vector<float> a_alone = decode(*a, 3), b_alone = decode(*a, 5);
  ASSERT_FALSE(same_bits(a_alone, b_alone));
  Meeting meeting(2);
  std::vector<float> b_rows, b_later;
  std::shared_ptr<const Model> model = a->model();
  std::thread other([&] {
    Engine b(model, machine_, isa_, options_with(3, 2, 1));
    EXPECT_EQ(b.model(), model);
    b_rows = decode(b, 5, &meeting);
    meeting.arrive_and_wait();
    meeting.arrive_and_wait();
    b_later = decode(b, 3);
  });
  EXPECT_TRUE(same_bits(decode(*a, 3, &meeting), a_alone));
  meeting.arrive_and_wait();
  a.reset();
  model.reset();
  meeting.arrive_and_wait();
  other.join();
  EXPECT_TRUE(same_bits(b_rows, b_alone));
  EXPECT_TRUE(same_bits(b_later, a_alone));
}

TEST_F(Lanes, TwoModelsWorkInOneProcess) {
  const TinyShape shape, another{.layers = 3, .width = 96, .heads = 6, .kv_heads = 3, .ffn = 160};
  const EngineOptions two = options_with(2, 1, 2), three = options_with(3, 2, 3);
  const std::vector<float> a_alone = decode(*load(shape, two), 3);
  const std::vector<float> b_alone = decode(*load(another, three), 3);
  Meeting meeting(2);
  std::vector<float> b_rows;
  std::thread other([&] { b_rows = decode(*load(another, three), 3, &meeting); });
  EXPECT_TRUE(same_bits(decode(*load(shape, two), 3, &meeting), a_alone));
  other.join();
  EXPECT_TRUE(same_bits(b_rows, b_alone));
}

// A second engine on a model keeps the model's shards and nodes, whatever its options say.
TEST_F(Lanes, TheModelStaysAsItIsCut) {
  std::unique_ptr<Engine> a = load({}, options_with(2, 2, 2));
  Engine b(a->model(), machine_, isa_, options_with(1, 1, 0));
  EXPECT_EQ(b.options().shards, 2u);
  EXPECT_EQ(b.regions()[0].kind, MemoryKind::kWeights);
  EXPECT_EQ(b.regions()[0].address, a->regions()[0].address);
  EXPECT_TRUE(same_bits(decode(*a, 3), decode(b, 3)));
}

}  // namespace
}  // namespace hearth
