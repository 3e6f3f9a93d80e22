// How long passes over prompts take (prefill_pass.h), from what an accelerator was measured to do.
// Said of a plan: each layer is either copied or computed longer, and copies run beside.
#pragma once

#include <cstdint>

#include "accelerator/accelerator_rates.h"
#include "hybrid/stream_plan.h"
#include "models/model.h"

namespace hearth {

// Seconds of a pass over so many rows. Of attention nothing counts, whose part grows with texts;
// what passes really take corrects it (Streamer).
double pass_seconds(const Model& model, const StreamPlan& plan, const AcceleratorRates& rates,
                    uint32_t rows);

}  // namespace hearth
