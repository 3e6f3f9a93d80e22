// Makes the streamer that a user asks for, which streams prompts through a GPU (hybrid/streamer.h)
// beside the steps of an engine.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "accelerator/accelerator_file.h"
#include "base/listener.h"
#include "engine/engine.h"
#include "hybrid/pass_time.h"
#include "hybrid/streamer.h"

namespace hearth {

struct PromptStreamOptions {
  std::string gpu = "none";  // none, auto, or what `hearth gpu` calls one
  // A described GPU in place of a real one: the virtual accelerator computes by the reference
  // kernels, with the memory and queues described, and predictions use the described rates.
  std::optional<MeasuredAccelerator> described = {};
  uint32_t threshold = 0;  // tokens from which on a prompt is streamed; 0: where it ends sooner
  StreamPlanOptions plan;
};

// A pass that is ready to run, and its predicted time.
struct PromptPass {
  std::string gpu;  // its name
  StreamPlan plan = {};
  std::unique_ptr<PassRunner> pass = {};  // null where it is only planned
  std::optional<PassTime> time = {};      // where it was asked for
  std::string copied_by_host = {};        // as of PrefillPass
};
// Plans a pass for a described GPU without making it, so no memory of a GPU is taken. Throws as
// make_prompt_streamer().
PromptPass plan_prompt_pass(const PassTarget& target, const MeasuredAccelerator& gpu,
                            const StreamPlanOptions& options);
// Opens the GPU, checks its shaders and plans a pass as make_prompt_streamer() does, and predicts
// its time where `timed`. `rates`: those measured earlier, or none, which are then measured and
// set. Throws as make_prompt_streamer().
PromptPass make_prompt_pass(const PassTarget& target, const PromptStreamOptions& options,
                            bool timed, std::optional<AcceleratorRates>* rates);

// Makes a streamer; options that nobody gives come from the engine's plan, where it has a part on
// streaming. Opens the GPU, holds its shaders against the reference, plans and measures: seconds,
// which the listener hears of; of one that is described it plans. Where no threshold is given the
// cores are measured, too, by this thread, the engine's; where the GPU's bits are not those of the
// cores, the threshold is fixed by that (StreamRule). Null where no prompt would be streamed then,
// where `gpu` is none, and where it is auto and no GPU can do it, which is said. Throws Error for
// one that is named: kUsage where nothing has that name, kUnsupported where it or the model cannot
// be used, kResource where memory is short. The engine outlives what is returned; `poke` is called
// by another thread whenever a prompt has ended, and what is told later too.
std::unique_ptr<Streamer> make_prompt_streamer(Engine& engine, const PromptStreamOptions& options,
                                               std::function<void()> poke,
                                               const Listener& listener);

}  // namespace hearth
