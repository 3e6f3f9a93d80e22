// A GPU of this machine as a device: an engine whose steps an accelerator computes, with the
// weights in its memory.
#pragma once

#include <memory>
#include <string>

#include "accelerator/accelerator.h"
#include "embed/cpu_pool.h"
#include "embed/cpu_pools.h"

namespace hearth {

// The engine's thread is that of a pool, whose other threads only pack the weights.
class GpuDevice : public CpuPool {
 public:
  using CpuPool::CpuPool;
  DeviceKind kind() const override { return DeviceKind::kAccelerator; }
  // It may be lost, or hang.
  bool remote() const override { return true; }
};

// The accelerator that `gpu` means (choose_accelerator()), open, for such a model. Throws Error:
// kUsage where nothing has such a name, kUnsupported where it or the model cannot be used.
std::shared_ptr<Accelerator> open_gpu(const std::string& gpu, const ModelSpec& spec);

// Loads the model by `make` and moves its weights there, once the shaders were found right for
// them. Throws Error: kUnsupported where they are wrong, kResource where memory is short, and what
// `make` throws.
std::unique_ptr<GpuDevice> make_gpu_device(const std::string& name,
                                           std::shared_ptr<Accelerator> accelerator,
                                           const EngineOptions& engine, const EmbedOptions& embed,
                                           const MakeEngine& make);

}  // namespace hearth
