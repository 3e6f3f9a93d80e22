#include "engine/prompt_stream.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "accelerator/find_accelerators.h"
#include "accelerator/measure_accelerator.h"
#include "accelerator/virtual/virtual_accelerator.h"
#include "base/error.h"
#include "hybrid/accelerator_layers.h"
#include "hybrid/prefill_pass.h"
#include "hybrid/require_right.h"

namespace hearth {
namespace {

// About as long as measuring takes.
constexpr double kMeasureSeconds = 2;

// What the engine's plan says, where nobody asks for something else.
PromptStreamOptions by_plan(PromptStreamOptions options, const EnginePlan& plan) {
  if (!plan.stream) return options;
  StreamPlanOptions& how = options.plan;
  if (how.rows == 0) how.rows = plan.stream->rows;
  if (!how.kept) how.kept = plan.stream->kept;
  if (plan.stream->berths > 0) how.berths = plan.stream->berths;
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
  const std::string why = why_no_prefill(target.model->spec(), target.isa);
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

  // On the streamer's thread.
  std::unique_ptr<PassRunner> make() {
    PromptPass made = make_fitting();
    time_ = std::move(made.time);
    const auto layers = static_cast<uint32_t>(target_.model->spec().layers.size());
    listener_.detail(fmt::format("prompts are streamed through {}: {}", made.gpu,
                                 stream_plan_text(made.plan, layers)));
    if (!made.why_not_imported.empty()) {
      listener_.detail("the host copies layers and pages: " + made.why_not_imported);
    }
    return std::move(made.pass);
  }

  // While there is what make() made.
  double seconds(uint32_t rows) const { return time_->seconds(rows); }

 private:
  // What the engine's plan says may not fit a GPU any more, of which others hold memory meanwhile.
  PromptPass make_fitting() {
    const bool timed = options_.threshold == 0;
    try {
      return make_prompt_pass(target_, options_, timed, &rates_);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kUsage || options_.plan == asked_.plan) throw;
      listener_.warn(fmt::format("the plan's passes are left out: {}", error.what()));
    }
    options_.plan = asked_.plan;
    return make_prompt_pass(target_, options_, timed, &rates_);
  }

  const PassTarget target_;
  PromptStreamOptions options_;
  const PromptStreamOptions asked_;
  const Listener listener_;
  std::optional<AcceleratorRates> rates_;  // of the accelerator when it was first opened
  std::optional<PassTime> time_;
};

}  // namespace

PromptPass plan_prompt_pass(const PassTarget& target, const MeasuredAccelerator& gpu,
                            const StreamPlanOptions& options) {
  check_prefill(target);
  const AcceleratorFacts facts = VirtualAccelerator({.facts = gpu.facts}).facts();
  PromptPass made{.gpu = facts.name, .plan = plan_stream(target, facts, options)};
  made.time.emplace(target, MeasuredAccelerator{facts, gpu.rates}, made.plan);
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
    made.time.emplace(target, MeasuredAccelerator{facts, **rates}, made.plan);
  }
  auto pass = std::make_unique<PrefillPass>(target, gpu, made.plan);
  made.why_not_imported = pass->why_not_imported();
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
                           .tell = listener.warn};
  // How long the reference kernels take says nothing of what is described.
  streamer.learns = !options.described;
  // This thread sits on one core, which all that is made of it would inherit.
  if (streamer.pus.empty()) streamer.pus = engine.placement().pus();
  if (options.threshold == 0) {
    streamer.predicted_seconds = [maker](uint32_t rows) { return maker->seconds(rows); };
  }
  try {
    return std::make_unique<Streamer>([maker] { return maker->make(); }, std::move(streamer));
  } catch (const Error& error) {
    const bool left_out =
        error.code() == ErrorCode::kUnsupported || error.code() == ErrorCode::kResource;
    if (options.gpu != "auto" || !left_out) throw;
    listener.warn(fmt::format("the cores compute all prompts: {}", error.what()));
    return nullptr;
  }
}

}  // namespace hearth
