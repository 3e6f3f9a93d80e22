#include "cli/generate.h"

#include <gtest/gtest.h>

#include "engine/engine.h"
#include "formats/gguf.h"
#include "formats/test_model.h"
#include "models/model_spec.h"

namespace hearth {
namespace {

// The computing threads take the times, so that these are right though this reader comes late and
// finds all tokens at once.
TEST(Generate, ReportsWhenTokensWereComputed) {
  constexpr double kTick = 1e6;
  const ModelSource file =
      parse_gguf(made_source({.architecture = "llama", .layers = 1}).gguf(), "made");
  auto load = [&] {
    EngineOptions options;
    options.threads = 1;
    options.context = 64;
    return std::make_unique<Engine>(file, make_spec(file), Machine::invented(1, 1), Isa::kReference,
                                    options);
  };
  ServiceOptions options;
  options.scheduler.clock = [time = 1e9]() mutable { return time += kTick; };
  Service service(load, nullptr, options);
  Request request;
  request.max_tokens = 4;
  const Interrupts interrupts;
  const std::vector<Continuation> got =
      generate(service, {{1, 2, 3}}, request, interrupts, [](const auto&, const auto&) {});
  ASSERT_EQ(got.size(), 1u);
  ASSERT_EQ(got[0].tokens, 4u);
  EXPECT_GT(got[0].first_token_seconds, kTick);
  EXPECT_GE(got[0].total_seconds - got[0].first_token_seconds, 3 * kTick);
  EXPECT_LE(got[0].rate(), 1 / kTick);
}

}  // namespace
}  // namespace hearth
