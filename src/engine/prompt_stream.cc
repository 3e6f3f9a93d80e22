#include "engine/prompt_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "accelerator/find_accelerators.h"
#include "accelerator/measure_accelerator.h"
#include "accelerator/virtual/virtual_accelerator.h"
#include "base/clock.h"
#include "base/error.h"
#include "hybrid/accelerator_layers.h"
#include "hybrid/prefill_pass.h"
#include "hybrid/require_right.h"

namespace hearth {
namespace {

// The approximate seconds that measuring takes.
constexpr double kMeasureSeconds = 2;

// Returns the options, with those that are not given taken from the engine's plan.
PromptStreamOptions by_plan(PromptStreamOptions options, const EnginePlan& plan) {
  if (!plan.stream) return options;
  StreamPlanOptions& how = options.plan;
  if (how.rows == 0) how.rows = plan.stream->rows;
  if (!how.kept) how.kept = plan.stream->kept;
  if (plan.stream->berths > 0) how.berths = plan.stream->berths;
  if (!how.experts && plan.stream->experts > 0) how.experts = plan.stream->experts;
  if (options.threshold == 0) options.threshold = plan.stream->threshold;
  return options;
}

std::shared_ptr<Accelerator> open_gpu(const PassTarget& target,
                                      const PromptStreamOptions& options) {
  if (options.described) {
    return std::make_shared<VirtualAccelerator>(VirtualOptions{.facts = options.described->facts});
  }
  const FoundAccelerators found = find_accelerators();
  const std::string name = options.gpu == "auto" ? "" : options.gpu;
  std::shared_ptr<Accelerator> gpu = choose_accelerator(found, name).open();
  require_right(*gpu, target.model->spec(), in_a_layer);
  return gpu;
}

void check_prefill(const PassTarget& target) {
  const std::string why = why_no_prefill(target.model->spec());
  if (!why.empty()) fail(ErrorCode::kUnsupported, "{}", why);
}

AcceleratorRates measure(Accelerator& gpu, const PassTarget& target,
                         const PromptStreamOptions& options) {
  if (options.described) return options.described->rates;
  const PassKernels kernels = pass_kernels(target);
  return measure_accelerator(
      gpu, {.seconds = kMeasureSeconds, .kinds = kernels.kinds, .kernels = kernels.contracts});
}

class Maker {
 public:
  Maker(Engine& engine, PromptStreamOptions options, PromptStreamOptions asked,
        const Listener& listener)
      : target_(engine.pass_target()),
        options_(std::move(options)),
        asked_(std::move(asked)),
        listener_(listener) {}

  // The streamer's thread calls this.
  std::unique_ptr<PassRunner> make() {
    PromptPass made = make_fitting();
    time_ = std::move(made.time);
    rows_ = made.plan.rows;
    const auto layers = static_cast<uint32_t>(target_.model->spec().layers.size());
    listener_.detail(fmt::format("prompts are streamed through {}: {}", made.gpu,
                                 stream_plan_text(made.plan, layers)));
    if (!made.copied_by_host.empty()) {
      listener_.detail("the host copies " + made.copied_by_host);
    }
    return std::move(made.pass);
  }

  // The next functions may be called while the result of make() exists.
  double seconds(uint32_t rows) const { return time_->seconds(rows); }
  double prefix_seconds(uint32_t rows, uint32_t before) const {
    return time_->prefix_seconds(rows, before);
  }
  uint32_t rows() const { return rows_; }

 private:
  // Makes the pass by the engine's plan. If that plan does not fit the GPU, since other programs
  // now hold memory there, makes another plan.
  PromptPass make_fitting() {
    const bool timed = options_.threshold == 0;
    try {
      return make_prompt_pass(target_, options_, timed, &rates_);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kUsage || options_.plan == asked_.plan) throw;
      listener_.warn(fmt::format("the plan's streaming section is not used: {}", error.what()));
    }
    options_.plan = asked_.plan;
    return make_prompt_pass(target_, options_, timed, &rates_);
  }

  const PassTarget target_;
  PromptStreamOptions options_;
  const PromptStreamOptions asked_;
  const Listener listener_;
  std::optional<AcceleratorRates> rates_;  // measured when the accelerator was first opened
  std::optional<PassTime> time_;
  uint32_t rows_ = 0;
};

// Returns the seconds that the cores, without a GPU, take for a token of a prompt.
double core_token_seconds(Engine& engine) {
  constexpr uint32_t kTokens = 128;
  const std::vector<int32_t> tokens(std::min(kTokens, engine.context()), 0);
  double least = std::numeric_limits<double>::infinity();
  for (int time = 0; time < 2; ++time) {
    const std::unique_ptr<Sequence> sequence = engine.new_sequence();
    const double start = steady_seconds();
    engine.prefill(*sequence, tokens);
    least = std::min(least, steady_seconds() - start);
  }
  return least / static_cast<double>(tokens.size());
}

// The number of tokens from which on a prompt of one pass is predicted to end sooner than on the
// cores, and a text that explains it.
struct Threshold {
  std::optional<uint32_t> tokens;
  std::string text;
};

Threshold find_threshold(Engine& engine, const Maker& maker) {
  const double token_seconds = core_token_seconds(engine);
  Threshold found;
  for (uint32_t tokens = 1; tokens <= maker.rows() && !found.tokens; ++tokens) {
    if (maker.seconds(tokens) < tokens * token_seconds) found.tokens = tokens;
  }
  const uint32_t shown = found.tokens.value_or(maker.rows());
  if (std::isinf(maker.seconds(shown))) {
    found.text = fmt::format(
        "a layer of {} tokens is predicted to take so long that the GPU would count as lost",
        shown);
    return found;
  }
  found.text =
      fmt::format("{} tokens are predicted to take {:.3g} s on the GPU and {:.3g} s on the cores",
                  shown, maker.seconds(shown), shown * token_seconds);
  return found;
}

// Sets the number of tokens from which on prompts are streamed, if it was given or must be fixed,
// and tells the listener. Returns false if streaming gains for no prompt.
bool settle_threshold(Engine& engine, const Maker& maker, uint32_t asked, Streamer* streamer,
                      const Listener& listener) {
  Threshold found{asked, "as asked for"};
  if (asked == 0) found = find_threshold(engine, maker);
  const bool own_bits = pass_has_own_bits(engine.spec(), engine.isa());
  if (!found.tokens) {
    const std::string none = "no prompt is computed faster by the GPU alone: " + found.text;
    if (own_bits) {
      listener.warn("prompts are not streamed through a GPU: " + none);
    } else {
      listener.detail(none);
    }
    return !own_bits;
  }
  if (!own_bits) {
    listener.detail(fmt::format("prompts are streamed from {} tokens on{}: {}", *found.tokens,
                                asked == 0 ? " if nothing else waits" : "", found.text));
    return true;
  }
  streamer->set_rule({*found.tokens});
  listener.warn(
      fmt::format("results for prompts of {} tokens and more may differ in the last bits from "
                  "those of the cores, whose BF16 instructions round differently from the GPU: {}",
                  *found.tokens, found.text));
  return true;
}

}  // namespace

PromptPass plan_prompt_pass(const PassTarget& target, const MeasuredAccelerator& gpu,
                            const StreamPlanOptions& options) {
  check_prefill(target);
  const AcceleratorFacts facts = VirtualAccelerator({.facts = gpu.facts}).facts();
  const MeasuredAccelerator measured{facts, gpu.rates};
  PromptPass made{.gpu = facts.name, .plan = plan_stream_by_time(target, measured, options)};
  made.time.emplace(target, measured, made.plan);
  return made;
}

PromptPass make_prompt_pass(const PassTarget& target, const PromptStreamOptions& options,
                            bool timed, std::optional<AcceleratorRates>* rates) {
  check_prefill(target);
  const std::shared_ptr<Accelerator> gpu = open_gpu(target, options);
  const AcceleratorFacts facts = gpu->facts();
  PromptPass made{.gpu = facts.name, .plan = plan_stream(target, facts, options.plan)};
  if (timed) {
    if (!*rates) *rates = measure(*gpu, target, options);
    const MeasuredAccelerator measured{facts, **rates};
    made.plan = plan_stream_by_time(target, measured, options.plan);
    made.time.emplace(target, measured, made.plan);
  }
  auto pass = std::make_unique<PrefillPass>(target, gpu, made.plan);
  made.copied_by_host = pass->copied_by_host();
  made.pass = std::move(pass);
  return made;
}

std::unique_ptr<Streamer> make_prompt_streamer(Engine& engine, const PromptStreamOptions& asked,
                                               std::function<void()> poke,
                                               const Listener& listener) {
  if (asked.gpu == "none" && !asked.described) return nullptr;
  const PromptStreamOptions options = by_plan(asked, engine.plan());
  const auto maker = std::make_shared<Maker>(engine, options, asked, listener);
  StreamerOptions streamer{.threshold = options.threshold,
                           .pus = engine.spare_pus(),
                           .on_done = std::move(poke),
                           .warn = listener.warn};
  // A described GPU's passes run on the reference kernels, whose times are not the GPU's, so no
  // times are learnt.
  streamer.learns = !options.described;
  // This thread is pinned to one core, which every thread that it makes would inherit.
  if (streamer.pus.empty()) streamer.pus = engine.placement().pus();
  if (options.threshold == 0) {
    streamer.predicted_seconds = [maker](uint32_t rows) { return maker->seconds(rows); };
    streamer.prefix_seconds = [maker](uint32_t rows, uint32_t before) {
      return maker->prefix_seconds(rows, before);
    };
  }
  try {
    auto made = std::make_unique<Streamer>([maker] { return maker->make(); }, std::move(streamer));
    if (!settle_threshold(engine, *maker, options.threshold, made.get(), listener)) return nullptr;
    return made;
  } catch (const Error& error) {
    const bool left_out =
        error.code() == ErrorCode::kUnsupported || error.code() == ErrorCode::kResource;
    if (options.gpu != "auto" || !left_out) throw;
    listener.warn(fmt::format("prompts are not streamed through a GPU: {}", error.what()));
    return nullptr;
  }
}

}  // namespace hearth
