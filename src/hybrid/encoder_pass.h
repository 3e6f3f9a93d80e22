// Runs the steps of an encoder on an accelerator that has its weights. It does what an engine's
// lane does on the cores. One walk over the model's blocks makes the commands of a step. They are
// submitted as one list, and run() waits until it ends.
#pragma once

#include <memory>

#include "accelerator/accelerator.h"
#include "graph/step_runner.h"
#include "hybrid/accelerator_weights.h"
#include "hybrid/pass_commands.h"
#include "hybrid/pass_memory.h"
#include "models/model.h"

namespace hearth {

// The most rows of a step, and the most positions of a text.
struct PassLimits {
  uint32_t rows = 1, context = 1;
};

class EncoderPass : public StepRunner {
 public:
  // Copies the weights, and allocates the memory of the largest step. Throws Error: kUnsupported
  // where why_no_pass() (accelerator_layers.h) gives a reason or the accelerator cannot do a call,
  // kResource where memory is short.
  EncoderPass(std::shared_ptr<const Model> model, std::shared_ptr<Accelerator> accelerator,
              const PassLimits& limits);

  // Fills step.hidden. The step has no rows of logits, and its texts are whole. Throws Error
  // (kResource) where the accelerator is lost. It counts as lost when no block has ended for 20 s.
  void run(const StepView& step) override;

 private:
  struct Made {
    PassCommands commands;
    FloatRows last;
  };
  // Returns the commands of a step. Its values have no places yet.
  Made make(const StepView& step) const;
  void reserve();

  std::shared_ptr<const Model> model_;
  std::shared_ptr<Accelerator> accelerator_;
  const PassLimits limits_;
  AcceleratorWeights weights_;
  PassMemory memory_;
  Moment done_;
};

}  // namespace hearth
