#include "embed/gpu_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "accelerator/find_accelerators.h"
#include "base/error.h"
#include "engine/pass_engine.h"
#include "hybrid/accelerator_layers.h"
#include "hybrid/encoder_pass.h"
#include "hybrid/require_right.h"
#include "kernels/gemm/gemm.h"

namespace hearth {
namespace {

std::unique_ptr<PassEngine> make_engine(std::shared_ptr<Accelerator> accelerator,
                                        std::shared_ptr<const Model> model, EngineOptions options) {
  const ModelSpec& spec = model->spec();
  require_right(*accelerator, spec);
  settle_options(spec, &options);
  const PassLimits limits{options.prefill_rows, options.context};
  auto pass = std::make_unique<EncoderPass>(model, std::move(accelerator), limits);
  return std::make_unique<PassEngine>(spec, std::move(options), std::move(pass));
}

}  // namespace

std::shared_ptr<Accelerator> open_gpu(const std::string& gpu, const ModelSpec& spec) {
  const std::string why = why_no_pass(spec);
  if (!why.empty()) fail(ErrorCode::kUnsupported, "{}", why);
  const FoundAccelerators found = find_accelerators();
  return choose_accelerator(found, gpu).open();
}

std::string bits_beside_cores(const ModelSpec& spec, Isa isa) {
  if (!multiplies_bf16(isa)) return "";
  uint32_t terms = 0;
  for (const WeightSpec& weight : spec.weights) {
    if (takes_bf16(weight)) terms = std::max(terms, weight.k);
  }
  if (terms == 0) return "";
  return fmt::format(
      "results differ in the last bits from those of the cores, whose BF16 instructions sum in "
      "another order: by at most {:.2g} times the sum of the magnitudes of the {} terms of each "
      "element",
      2 * product_error_bound(terms), terms);
}

GpuDevice::GpuDevice(std::string name, std::shared_ptr<Accelerator> accelerator,
                     std::shared_ptr<const Model> model, EngineOptions engine,
                     const EmbedOptions& embed)
    : EngineDevice(std::move(name), [&] {
        auto made = make_engine(std::move(accelerator), std::move(model), std::move(engine));
        auto embedder = std::make_unique<Embedder>(*made, embed);
        return Made{std::move(made), std::move(embedder)};
      }) {}

}  // namespace hearth
