#include "embed/gpu_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "accelerator/check_kernels.h"
#include "accelerator/find_accelerators.h"
#include "base/error.h"
#include "hybrid/accelerator_layers.h"
#include "hybrid/encoder_pass.h"
#include "threads/pin.h"

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
                  const std::string what =
                      check.refused.empty()
                          ? fmt::format("computes '{}' wrong: {}", check.contract, check.first)
                          : fmt::format("cannot compute '{}': {}", check.contract, check.refused);
                  fail(ErrorCode::kUnsupported, "{} {}; `hearth gpu --check` tells more",
                       accelerator.facts().name, what);
                });
}

}  // namespace

std::shared_ptr<Accelerator> open_gpu(const std::string& gpu, const ModelSpec& spec) {
  const std::string why = why_no_pass(spec);
  if (!why.empty()) fail(ErrorCode::kUnsupported, "{}", why);
  const FoundAccelerators found = find_accelerators();
  return choose_accelerator(found, gpu).open();
}

std::unique_ptr<GpuDevice> make_gpu_device(const std::string& name,
                                           std::shared_ptr<Accelerator> accelerator,
                                           const EngineOptions& engine, const EmbedOptions& embed,
                                           const MakeEngine& make) {
  auto load = [&] {
    const std::vector<uint32_t> anywhere = get_affinity(0);
    std::unique_ptr<Engine> made = make(engine);
    require_right(*accelerator, made->spec());
    made->compute_by(std::make_unique<EncoderPass>(
        made->model(), accelerator, PassLimits{made->options().prefill_rows, made->context()}));
    // The engine pinned this thread beside those that compute, of whom it is none now.
    set_affinity(0, anywhere);
    return made;
  };
  return std::make_unique<GpuDevice>(name, load, embed);
}

}  // namespace hearth
