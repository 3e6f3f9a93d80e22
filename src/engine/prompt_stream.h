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
  uint32_t threshold = 0;  // tokens from which on a prompt is streamed; 0: if it ends sooner so
  StreamPlanOptions plan;
};

// A pass that is ready to run, and its predicted time.
struct PromptPass {
  std::string gpu;  // its name
  StreamPlan plan = {};
  std::unique_ptr<PassRunner> pass = {};  // null where it is only planned
  std::optional<PassTime> time = {};      // if it was asked for
  std::string copied_by_host = {};        // PrefillPass::copied_by_host()
};
// Plans a pass for a described GPU without making it, so no memory of a GPU is taken. Throws as
// make_prompt_streamer().
PromptPass plan_prompt_pass(const PassTarget& target, const MeasuredAccelerator& gpu,
                            const StreamPlanOptions& options);
// Opens the GPU, checks its shaders and plans a pass as make_prompt_streamer() does. If `timed`,
// also predicts its time. `rates`: rates measured earlier; if there are none, they are measured and
// set. Throws as make_prompt_streamer().
PromptPass make_prompt_pass(const PassTarget& target, const PromptStreamOptions& options,
                            bool timed, std::optional<AcceleratorRates>* rates);

// Makes a streamer. Options that are not given come from the engine's plan, if that has a part on
// streaming. Opens the GPU, compares its shaders with the reference, plans and measures, which
// takes seconds and is told to the listener. For a described GPU it only plans. Without a given
// threshold the calling thread, the engine's, also measures the cores. If the GPU's bits are not
// those of the cores, one fixed threshold decides which prompts are streamed (StreamRule). Returns
// null if no prompt would then be streamed, if `gpu` is none, and if it is auto and no GPU is
// usable, which the listener is told. Throws Error for a named GPU: kUsage if nothing has that
// name, kUnsupported if it or the model cannot be used, kResource if memory is short. The engine
// must outlive the streamer. Another thread calls `poke` whenever a prompt has ended, and tells
// later messages too.
std::unique_ptr<Streamer> make_prompt_streamer(Engine& engine, const PromptStreamOptions& options,
                                               std::function<void()> poke,
                                               const Listener& listener);

}  // namespace hearth
