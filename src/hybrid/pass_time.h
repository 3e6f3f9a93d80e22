// How long passes over prompts take (prefill_pass.h), from what an accelerator was measured to do.
// Said of a plan: each layer is either copied or computed longer, and copies run beside.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "accelerator/accelerator_rates.h"
#include "hybrid/stream_plan.h"
#include "models/model.h"

namespace hearth {

class PassTime {
 public:
  // The model is not needed afterwards.
  PassTime(const Model& model, const StreamPlan& plan, AcceleratorRates rates);

  // Seconds of a pass over so many rows. Of attention nothing counts, whose part grows with texts;
  // what passes really take corrects it (Streamer).
  double seconds(uint32_t rows) const;

 private:
  struct LayerWork {
    double load_seconds = 0;
    std::vector<std::pair<PackKind, double>> products = {};  // multiply-adds a row, by kind
  };

  AcceleratorRates rates_;
  std::vector<LayerWork> layers_;
};

}  // namespace hearth
