#include "engine/prompt_stream.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "accelerator/find_accelerators.h"
#include "accelerator/measure_accelerator.h"
#include "base/error.h"
#include "hybrid/accelerator_layers.h"
#include "hybrid/pass_time.h"
#include "hybrid/prefill_pass.h"
#include "hybrid/require_right.h"

namespace hearth {
namespace {

// About as long as measuring takes.
constexpr double kMeasureSeconds = 2;

class Maker {
 public:
  Maker(Engine& engine, PromptStreamOptions options, const Listener& listener)
      : target_(engine.pass_target()), options_(std::move(options)), listener_(listener) {}

  // On the streamer's thread.
  std::unique_ptr<PassRunner> make() {
    const std::string why = why_no_prefill(target_.model->spec(), target_.isa);
    if (!why.empty()) fail(ErrorCode::kUnsupported, "{}", why);
    const FoundAccelerators found = find_accelerators();
    const std::shared_ptr<Accelerator> gpu = choose_accelerator(found, name()).open();
    require_right(*gpu, target_.model->spec(), in_a_layer);
    const StreamPlan plan = plan_stream(target_, gpu->facts(), options_.plan);
    if (options_.threshold == 0) {
      if (!rates_) rates_ = measure_accelerator(*gpu, {.seconds = kMeasureSeconds});
      time_.emplace(*target_.model, plan, *rates_);
    }
    auto pass = std::make_unique<PrefillPass>(target_, gpu, plan);
    const auto layers = static_cast<uint32_t>(target_.model->spec().layers.size());
    listener_.detail(fmt::format("prompts are streamed through {}: {}", gpu->facts().name,
                                 stream_plan_text(plan, layers)));
    if (!pass->why_not_imported().empty()) {
      listener_.detail("the host copies layers and pages: " + pass->why_not_imported());
    }
    return pass;
  }

  // While there is what make() made.
  double seconds(uint32_t rows) const { return time_->seconds(rows); }

 private:
  std::string name() const { return options_.gpu == "auto" ? "" : options_.gpu; }

  const PassTarget target_;
  const PromptStreamOptions options_;
  const Listener listener_;
  std::optional<AcceleratorRates> rates_;  // of the accelerator when it was first opened
  std::optional<PassTime> time_;
};

}  // namespace

std::unique_ptr<Streamer> make_prompt_streamer(Engine& engine, const PromptStreamOptions& options,
                                               std::function<void()> poke,
                                               const Listener& listener) {
  if (options.gpu == "none") return nullptr;
  const auto maker = std::make_shared<Maker>(engine, options, listener);
  StreamerOptions streamer{.threshold = options.threshold,
                           .pus = engine.spare_pus(),
                           .on_done = std::move(poke),
                           .tell = listener.warn};
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
