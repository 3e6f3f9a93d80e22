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
  // A GPU that is described, in place of these: the virtual accelerator computes, by the reference
  // kernels, with the memory and the queues that are told, and predictions go by the rates.
  std::optional<MeasuredAccelerator> described = {};
  uint32_t threshold = 0;  // tokens from which on a prompt is streamed; 0: where it ends sooner
  StreamPlanOptions plan;
};

// A pass that is ready, and what it is predicted to take.
struct PromptPass {
  std::string gpu;  // its name
  StreamPlan plan = {};
  std::unique_ptr<PassRunner> pass = {};  // none where it is planned alone
  std::optional<PassTime> time = {};      // where it was asked for
  std::string copied_by_host = {};        // as of PrefillPass
};
// Plans for a GPU that is described, without a pass: nothing takes its memory. Throws as below.
PromptPass plan_prompt_pass(const PassTarget& target, const MeasuredAccelerator& gpu,
                            const StreamPlanOptions& options);
// Opens, checks and plans as below, and measures where `timed`; `rates`: what it measured, or what
// was before, where there is some. Throws as below.
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
