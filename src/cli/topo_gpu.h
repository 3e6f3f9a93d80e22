// Predictions of `hearth topo` for a GPU described by a file: how a model is streamed through it,
// and the time to a prompt's first token, with the GPU and with only the cores.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "accelerator/accelerator_file.h"
#include "base/json.h"
#include "cost/cost_model.h"
#include "engine/engine_plan.h"
#include "hybrid/pass_time.h"
#include "hybrid/stream_plan.h"

namespace hearth {

struct GpuPrediction {
  struct Prompt {
    uint32_t tokens = 0;
    double gpu_seconds = 0;  // to the first token; infinite where a pass would never end
    double cores_seconds = 0;
    PassFigures passes = {};  // of all passes together
  };
  // The rates of a pass and of decoding, each by itself and beside the other, since both read the
  // host's memory.
  struct Beside {
    uint32_t depth = 0, rows = 0;             // of decoding, and of the pass
    double decode_rate = 0, decode_left = 0;  // tokens a second: by itself, and beside copies
    double pass_seconds = 0, pass_left = 0;   // by itself, and with decoding all the time
  };
  struct Berths {
    uint32_t rows = 0, berths = 0;
    double seconds = 0;  // of one pass
  };

  std::string name;
  uint32_t layers = 0, context = 0;
  StreamPlan plan = {};
  double memory_rate = 0, link_rate = 0;   // bytes a second of the host's memory and of the link
  std::optional<uint32_t> threshold = {};  // the fewest tokens for which the GPU is faster
  std::vector<Prompt> prompts = {};
  std::vector<Berths> berths = {};
  // None if nothing is copied, or if a layer takes so long that the GPU would count as lost.
  std::optional<Beside> beside = {};
};

struct GpuPredictArgs {
  MeasuredAccelerator gpu;
  StreamPlanOptions plan = {};
  uint32_t depth = 512;  // positions in the cache for decoding beside a pass
};

// Throws Error where the model cannot be streamed, or does not fit.
GpuPrediction predict_gpu(const Machine& machine, const BandwidthTable& table,
                          const ModelSpec& model, const EnginePlan& plan,
                          const GpuPredictArgs& args);

std::string gpu_prediction_text(const GpuPrediction& prediction);
void json_gpu_prediction(Json& json, const GpuPrediction& prediction);

}  // namespace hearth
