// A GPU of this machine as a device: an engine whose steps an accelerator computes, with the
// weights in its memory.
#pragma once

#include <memory>
#include <string>

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

// Loads the model by `make` and moves its weights to the accelerator that `gpu` means
// (choose_accelerator()), once its shaders were found right for the model's weights. Throws Error:
// kUsage where nothing has such a name, kUnsupported and kResource where it cannot be used, with
// the reason, and what `make` throws.
std::unique_ptr<GpuDevice> make_gpu_device(const std::string& name, const std::string& gpu,
                                           const EngineOptions& engine, const EmbedOptions& embed,
                                           const MakeEngine& make);

}  // namespace hearth
