#include "embed/gpu_device.h"

#include <algorithm>
#include <vector>

#include "accelerator/check_kernels.h"
#include "accelerator/find_accelerators.h"
#include "base/error.h"
#include "hybrid/accelerator_layers.h"
#include "hybrid/encoder_pass.h"

namespace hearth {
namespace {

std::vector<PackKind> kinds_of(const ModelSpec& spec) {
  std::vector<PackKind> kinds;
  for (const WeightSpec& weight : spec.weights) {
    if (!weight.is_matrix() || std::ranges::count(kinds, weight.packed.kind) > 0) continue;
    kinds.push_back(weight.packed.kind);
  }
  return kinds;
}

// A driver that computes wrong is found before a text is.
void require_right(Accelerator& accelerator, const ModelSpec& spec) {
  check_kernels(accelerator, {.brief = true, .kinds = kinds_of(spec)},
                [&](const KernelCheck& check) {
                  if (check.good()) return;
                  fail(ErrorCode::kUnsupported,
                       "{} computes '{}' wrong: {}{}; `hearth gpu --check` tells more",
                       accelerator.facts().name, check.contract, check.first, check.refused);
                });
}

}  // namespace

std::unique_ptr<GpuDevice> make_gpu_device(const std::string& name, const std::string& gpu,
                                           const EngineOptions& engine, const EmbedOptions& embed,
                                           const MakeEngine& make) {
  const FoundAccelerators found = find_accelerators();
  const FoundAccelerator& chosen = choose_accelerator(found, gpu);
  auto load = [&] {
    std::shared_ptr<Accelerator> accelerator = chosen.open();
    std::unique_ptr<Engine> made = make(engine);
    require_right(*accelerator, made->spec());
    made->compute_by(std::make_unique<EncoderPass>(made->model(), std::move(accelerator)));
    return made;
  };
  return std::make_unique<GpuDevice>(name, load, embed);
}

}  // namespace hearth
