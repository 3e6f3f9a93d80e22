#include "hybrid/encoder_pass.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "base/error.h"
#include "hybrid/accelerator_layers.h"
#include "hybrid/prefill_step.h"

namespace hearth {
namespace {

// The accelerator counts as hung when no block ends for so many seconds.
constexpr double kMaxSeconds = 20;

const Model& computable(const Model& model) {
  const std::string why = why_no_pass(model.spec());
  if (!why.empty()) fail(ErrorCode::kUnsupported, "{}", why);
  return model;
}

}  // namespace

EncoderPass::EncoderPass(std::shared_ptr<const Model> model,
                         std::shared_ptr<Accelerator> accelerator, const PassLimits& limits)
    : model_(std::move(model)),
      accelerator_(std::move(accelerator)),
      limits_(limits),
      weights_(computable(*model_), *accelerator_),
      done_{accelerator_->make_timeline(), 0} {
  reserve();
}

EncoderPass::Made EncoderPass::make(const StepView& step) const {
  Made made;
  AcceleratorLayers layers(weights_, limits_.context, step, &made.commands);
  walk_model(model_->spec(), layers);
  made.last = layers.last();
  return made;
}

// Reserves memory for the largest step, and checks that the accelerator can do all its calls. So no
// text fails later for lack of memory or of a call.
void EncoderPass::reserve() {
  const LargestPass largest(limits_.context, limits_.rows);
  Made made = make(largest.step().view());
  made.commands.lay_out(accelerator_->facts().allocation_bytes, made.last.at);
  memory_ = PassMemory(*accelerator_, made.commands);
  const CommandList list = made.commands.placed_in(memory_.buffers(), done_);
  for (const Command& command : list.commands) {
    const auto* call = std::get_if<KernelCall>(&command.work);
    const std::string why = call == nullptr ? "" : accelerator_->why_not(*call);
    if (!why.empty()) fail(ErrorCode::kUnsupported, "{}", why);
  }
}

void EncoderPass::run(const StepView& step) {
  Made made = make(step);
  made.commands.lay_out_as(memory_.layout());
  const PassCommands::Buffers& in = memory_.buffers();
  made.commands.write_inputs(in, [this](const Place& to, std::span<const std::byte> bytes) {
    accelerator_->write(to, bytes);
  });
  accelerator_->submit(made.commands.placed_in(in, done_));
  for (uint64_t left = made.commands.moments(); left > 0; --left) {
    ++done_.value;
    accelerator_->wait(done_, kMaxSeconds);
  }
  const Place last = made.commands.place_in(in, made.last.at);
  const uint64_t stride = made.last.stride;
  const uint32_t width = model_->spec().hyper.width;
  // Rows that follow each other are read in one piece.
  std::vector<float> rows;
  for (size_t i = 0; i < step.outputs.size();) {
    size_t end = i + 1;
    while (end < step.outputs.size() && step.outputs[end] == step.outputs[end - 1] + 1) ++end;
    rows.resize((end - i) * stride);
    accelerator_->read(last + step.outputs[i] * stride * sizeof(float),
                       std::as_writable_bytes(std::span(rows)));
    for (size_t r = i; r < end; ++r) {
      std::copy_n(&rows[(r - i) * stride], width, step.hidden + r * width);
    }
    i = end;
  }
}

}  // namespace hearth
