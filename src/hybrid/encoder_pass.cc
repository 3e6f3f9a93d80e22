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

// Seconds for a block of a layer, after which it counts as hung.
constexpr double kMostSeconds = 20;

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
  made.bytes = made.commands.lay_out(made.last.at);
  return made;
}

// Makes the buffers at least as long as the pass needs them; what was in a longer one is lost.
PassCommands::Buffers EncoderPass::buffers(const Made& made) {
  const auto grow = [&](Buffer* buffer, uint64_t bytes) {
    if (buffer->bytes() >= bytes) return;
    *buffer = {};
    *buffer = accelerator_->allocate(bytes);
  };
  grow(&inputs_, made.commands.input_bytes());
  grow(&values_, made.bytes);
  return {inputs_.id(), values_.id()};
}

// Reserves memory and tries all calls, so that no text finds that there is no memory for its step,
// or a call that cannot be done.
void EncoderPass::reserve() {
  const LargestPass largest(limits_.context, limits_.rows);
  const Made made = make(largest.step().view());
  const CommandList list = made.commands.placed_in(buffers(made), done_);
  for (const Command& command : list.commands) {
    const auto* call = std::get_if<KernelCall>(&command.work);
    const std::string why = call == nullptr ? "" : accelerator_->why_not(*call);
    if (!why.empty()) fail(ErrorCode::kUnsupported, "{}", why);
  }
}

void EncoderPass::run(const StepView& step) {
  const Made made = make(step);
  const PassCommands::Buffers in = buffers(made);
  made.commands.write_inputs([this](uint64_t at, std::span<const std::byte> bytes) {
    accelerator_->write(inputs_.at(at), bytes);
  });
  accelerator_->submit(made.commands.placed_in(in, done_));
  for (uint64_t left = made.commands.moments(); left > 0; --left) {
    ++done_.value;
    accelerator_->wait(done_, kMostSeconds);
  }
  const Place last = made.commands.place_in(in, made.last.at);
  const uint64_t stride = made.last.stride;
  const uint32_t width = model_->spec().hyper.width;
  // Neighbouring rows come in one piece.
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
