// Checks whether the settings that `hearth tune` kept for a model on this machine are ever slower
// than the defaults. One engine runs steps with the settings and with the defaults in turns.
//
//   tuned_pairs MODEL PAIRS [SEQUENCES PROMPTS]     e.g. tuned_pairs model.gguf 20 1,4,16 64,512
//
// Prints a line a case: decode of so many sequences after 256 tokens, or a prompt of so many
// tokens. An encoder's cases are the texts that it is tuned for. A line has the median of the
// default's time over the tuned one's, its quartiles, and the default's median time.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "base/error.h"
#include "base/number_list.h"
#include "bench/turns.h"
#include "cli/load.h"
#include "engine/open_model.h"
#include "engine/tuned_plan.h"
#include "tune/step_timer.h"
#include "tune/whole_team.h"

namespace hearth {
namespace {

std::vector<uint32_t> numbers(std::string_view text) {
  const std::optional<std::vector<uint32_t>> all = parse_number_list(text, ',', 1u << 20);
  if (!all || std::ranges::count(*all, 0u) > 0) {
    fail(ErrorCode::kUsage, "'{}' is no list of numbers above 0, such as 1,4,16", text);
  }
  return *all;
}

// A plan and schedules to set in the engine.
struct Way {
  EnginePlan plan;
  ScheduleTable schedules;
};

class Pairs {
 public:
  Pairs(Engine& engine, const TuneCases& cases, Way default_way, Way tuned)
      : engine_(engine),
        timer_(engine, cases),
        default_way_(std::move(default_way)),
        tuned_(std::move(tuned)) {}

  void run(Phase phase, uint32_t size, uint32_t pairs) {
    const TurnRatios ratios = time_in_turns(
        pairs, [&] { return time(default_way_, phase, size); },
        [&] { return time(tuned_, phase, size); });
    fmt::print("{} {}: {:.3f} ({:.3f} to {:.3f}), default {:.1f} ms\n", phase_name(phase), size,
               ratios.median, ratios.low, ratios.high, 1e3 * ratios.first_seconds);
    std::fflush(stdout);
  }

 private:
  double time(const Way& way, Phase phase, uint32_t size) {
    engine_.set_plan(way.plan, way.schedules);
    if (phase == Phase::kDecode) return timer_.decode(size);
    timer_.prompt(std::min(size, 256u));  // touches the memory of a new graph
    return timer_.prompt(size);
  }

  Engine& engine_;
  StepTimer timer_;
  Way default_way_, tuned_;
};

int run(const std::string& path, uint32_t pairs, const TuneCases& asked) {
  const Machine machine = Machine::live();
  const Isa isa = environment_isa(detect_cpu_features());
  const OpenedModel model = open_model({path, {}, TokenizerUse::kNone});
  const TunedStore::Found found =
      TunedStore::of_environment().find(machine_fields(machine, isa), model_fields(model.spec));
  if (!found.tuned) {
    fail(ErrorCode::kUsage, "nothing was tuned for this model here{}: run `hearth tune` first",
         found.note.empty() ? "" : " (" + found.note + ")");
  }
  const TuneCases cases = cases_for(model.spec, asked);
  EngineOptions options = cases.engine_options();
  options.plan = with_all_pus(machine, plan_engine(machine, options));
  const std::unique_ptr<Engine> engine = start_engine(model, machine, isa, options);
  std::optional<EnginePlan> plan = tuned_plan(*found.tuned, machine, engine->options());
  if (plan) plan = with_all_pus(machine, *plan);
  const Way default_way{engine->plan(), {}};
  Pairs all(*engine, cases, default_way,
            {plan.value_or(default_way.plan), timed_schedules(*found.tuned)});
  for (uint32_t sequences : cases.sequences) all.run(Phase::kDecode, sequences, pairs);
  for (uint32_t prompt : cases.prompts) all.run(Phase::kPrefill, prompt, pairs);
  return 0;
}

}  // namespace
}  // namespace hearth

int main(int argc, char** argv) {
  using namespace hearth;
  if (argc != 3 && argc != 5) {
    fmt::print(stderr, "use: tuned_pairs MODEL PAIRS [SEQUENCES PROMPTS]\n");
    return 2;
  }
  try {
    TuneCases cases;
    if (argc == 5) {
      cases.sequences = numbers(argv[3]);
      cases.prompts = numbers(argv[4]);
    }
    return run(argv[1], numbers(argv[2]).at(0), cases);
  } catch (const Error& error) {
    fmt::print(stderr, "tuned_pairs: {}\n", error.what());
    return 1;
  }
}
