// Steps of an encoder on an accelerator, where its weights lie: what an engine's lane does by the
// cores. A step's commands are made by one walk over the model's blocks, submitted as one list, and
// waited for.
#pragma once

#include <memory>

#include "accelerator/accelerator.h"
#include "graph/step_runner.h"
#include "hybrid/accelerator_weights.h"
#include "models/model.h"

namespace hearth {

class EncoderPass : public StepRunner {
 public:
  // Copies the weights. Throws Error: kUnsupported where why_no_pass() says so
  // (accelerator_layers.h), kResource where memory is short.
  EncoderPass(std::shared_ptr<const Model> model, std::shared_ptr<Accelerator> accelerator);

  // Fills step.hidden. The step has no rows of logits, and its texts are whole. Throws Error
  // (kResource) where memory is short or the accelerator is lost.
  void run(const StepView& step) override;

  // Of weights, and of the largest step so far.
  uint64_t memory_bytes() const;

 private:
  // At least so long; what was in it is lost.
  Buffer& grown(Buffer* buffer, uint64_t bytes);

  std::shared_ptr<const Model> model_;
  std::shared_ptr<Accelerator> accelerator_;
  AcceleratorWeights weights_;
  Buffer inputs_, activations_;
  Moment done_;
};

}  // namespace hearth
