// From what a user says of a GPU to prompts that are streamed through it (hybrid/streamer.h),
// beside the steps of an engine.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/listener.h"
#include "engine/engine.h"
#include "hybrid/streamer.h"

namespace hearth {

struct PromptStreamOptions {
  std::string gpu = "none";  // none, auto, or what `hearth gpu` calls one
  uint32_t threshold = 0;    // tokens from which on a prompt is streamed; 0: where it ends sooner
  StreamPlanOptions plan;
};

// Opens the GPU, holds its shaders against the reference, plans and measures: seconds, which the
// listener hears of. Null where `gpu` is none, and where it is auto and no GPU can do it, which is
// said. Throws Error for one that is named: kUsage where nothing has that name, kUnsupported where
// it or the model cannot be used, kResource where memory is short. The engine outlives what is
// returned; `poke` is called by another thread whenever a prompt has ended, and what is told later
// too.
std::unique_ptr<Streamer> make_prompt_streamer(Engine& engine, const PromptStreamOptions& options,
                                               std::function<void()> poke,
                                               const Listener& listener);

}  // namespace hearth
