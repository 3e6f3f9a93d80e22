// Measures the time that two engines lose by sharing the cores. It compares the time of both
// engines' texts at once with that of one engine's texts and then the other's. Each engine has as
// many texts under way as when it runs alone, so steps are as large. No client and no socket is
// involved.
//
//   shared_cores MODEL MODEL TEXTS TOKENS ROUNDS     e.g. shared_cores a.gguf b.gguf 4 500 20
//
// Prints a line a round, then the median and the quartiles of the loss.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/number_list.h"
#include "cli/load.h"
#include "engine/open_model.h"
#include "engine/service.h"

namespace hearth {
namespace {

class Texts {
 public:
  Texts(const std::string& path, uint32_t texts, uint32_t tokens, std::shared_ptr<StepTurns> turns)
      : model_(open_model({path, {}, TokenizerUse::kNone})), texts_(texts), tokens_(tokens) {
    EngineOptions options;
    options.kv_bytes = uint64_t{512} << 20;
    const auto load = [&] {
      return start_engine(model_, Machine::live(), environment_isa(detect_cpu_features()), options);
    };
    ServiceOptions service;
    service.turns = std::move(turns);
    service_ = std::make_unique<Service>(load, nullptr, service);
  }

  void begin() {
    end_ = service_->statistics().finished_choices + texts_;
    for (uint32_t i = 0; i < texts_; ++i) {
      Request request;
      request.prompt = {static_cast<int32_t>(1 + i), 5, 7};
      request.sampling.temperature = 0;
      request.max_tokens = tokens_;
      streams_.push_back(std::make_shared<ResultStream>(tokens_ + 8));
      handles_.push_back(service_->submit(std::move(request), streams_.back()));
    }
  }
  void wait() {
    while (service_->statistics().finished_choices < end_) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    handles_.clear();
    streams_.clear();
    if (service_->statistics().failed_choices > 0) {
      fail(ErrorCode::kResource, "{} texts failed: give fewer, or shorter ones",
           uint64_t{service_->statistics().failed_choices});
    }
  }
  double step_seconds() const {
    return 1e-9 * static_cast<double>(uint64_t{service_->statistics().step_nanoseconds});
  }

 private:
  const OpenedModel model_;
  const uint32_t texts_, tokens_;
  std::unique_ptr<Service> service_;
  std::vector<std::shared_ptr<ResultStream>> streams_;
  std::vector<JobHandle> handles_;
  uint64_t end_ = 0;
};

struct Taken {
  double seconds = 0;
  double in_steps = 0;  // the part of `seconds` within steps
};

Taken time(const std::vector<Texts*>& engines) {
  const auto in_steps = [&] {
    double sum = 0;
    for (const Texts* engine : engines) sum += engine->step_seconds();
    return sum;
  };
  const double start = steady_seconds(), before = in_steps();
  for (Texts* engine : engines) engine->begin();
  for (Texts* engine : engines) engine->wait();
  return {steady_seconds() - start, in_steps() - before};
}

int run(char** words) {
  const auto number = [](const char* word) {
    const std::optional<std::vector<uint32_t>> one = parse_number_list(word, ',', 1u << 20);
    if (!one || one->size() != 1 || one->front() == 0) {
      fail(ErrorCode::kUsage, "'{}' is no number above 0", word);
    }
    return one->front();
  };
  const uint32_t texts = number(words[2]), tokens = number(words[3]), rounds = number(words[4]);
  const auto turns = std::make_shared<StepTurns>();
  Texts first(words[0], texts, tokens, turns), second(words[1], texts, tokens, turns);
  time({&first, &second});
  std::vector<double> lost;
  for (uint32_t round = 0; round < rounds; ++round) {
    // One engine runs alone before the run of both and the other after it, so that a machine that
    // slows down favours neither way.
    const Taken a = time({&first}), both = time({&first, &second}), b = time({&second});
    const double alone = a.seconds + b.seconds, steps_alone = a.in_steps + b.in_steps;
    lost.push_back(both.seconds / alone - 1);
    fmt::print(
        "one after the other {:.3f} s, {:.3f} s of it in steps; at once {:.3f} s, {:.3f} s\n",
        alone, steps_alone, both.seconds, both.in_steps);
    std::fflush(stdout);
  }
  std::ranges::sort(lost);
  const auto part = [&](size_t quarter) { return 100 * lost[lost.size() * quarter / 4]; };
  fmt::print("lost: {:+.1f} % ({:+.1f} to {:+.1f})\n", part(2), part(1), part(3));
  return 0;
}

}  // namespace
}  // namespace hearth

int main(int argc, char** argv) {
  if (argc != 6) {
    fmt::print(stderr, "use: shared_cores MODEL MODEL TEXTS TOKENS ROUNDS\n");
    return 2;
  }
  try {
    return hearth::run(argv + 1);
  } catch (const std::exception& error) {
    fmt::print(stderr, "shared_cores: {}\n", error.what());
    return 1;
  }
}
