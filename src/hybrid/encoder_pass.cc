#include "hybrid/encoder_pass.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "hybrid/accelerator_layers.h"
#include "hybrid/pass_commands.h"

namespace hearth {
namespace {

// A submission that takes so long will not end.
constexpr double kMostSeconds = 20;

const Model& computable(const Model& model) {
  const std::string why = why_no_pass(model.spec());
  if (!why.empty()) fail(ErrorCode::kUnsupported, "{}", why);
  return model;
}

}  // namespace

EncoderPass::EncoderPass(std::shared_ptr<const Model> model,
                         std::shared_ptr<Accelerator> accelerator)
    : model_(std::move(model)),
      accelerator_(std::move(accelerator)),
      weights_(computable(*model_), *accelerator_),
      done_{accelerator_->make_timeline(), 0} {}

uint64_t EncoderPass::memory_bytes() const {
  return weights_.bytes() + inputs_.bytes() + activations_.bytes();
}

Buffer& EncoderPass::grown(Buffer* buffer, uint64_t bytes) {
  if (buffer->bytes() < bytes) {
    *buffer = {};
    *buffer = accelerator_->allocate(bytes);
  }
  return *buffer;
}

void EncoderPass::run(const StepView& step) {
  PassCommands commands;
  AcceleratorLayers layers(weights_, step, &commands);
  walk_model(model_->spec(), layers);
  const uint64_t bytes = commands.lay_out(layers.last().at);
  const PassCommands::Buffers buffers{grown(&inputs_, commands.inputs().size()).id(),
                                      grown(&activations_, bytes).id()};
  accelerator_->write(inputs_.at(), commands.inputs());
  ++done_.value;
  accelerator_->submit(commands.placed_in(buffers, done_));
  accelerator_->wait(done_, kMostSeconds);
  const Place last = commands.place_in(buffers, layers.last().at);
  const uint64_t row_bytes = layers.last().stride * sizeof(float);
  const uint32_t width = model_->spec().hyper.width;
  // Neighbouring rows come in one piece.
  std::vector<float> rows;
  for (size_t i = 0; i < step.outputs.size();) {
    size_t end = i + 1;
    while (end < step.outputs.size() && step.outputs[end] == step.outputs[end - 1] + 1) ++end;
    rows.resize((end - i) * layers.last().stride);
    accelerator_->read(last + step.outputs[i] * row_bytes, std::as_writable_bytes(std::span(rows)));
    for (size_t r = i; r < end; ++r) {
      std::copy_n(&rows[(r - i) * layers.last().stride], width, step.hidden + r * width);
    }
    i = end;
  }
}

}  // namespace hearth
