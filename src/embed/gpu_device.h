// A GPU of this machine as a device: an engine whose steps an accelerator computes, with the
// weights in its memory.
#pragma once

#include <memory>
#include <string>

#include "accelerator/accelerator.h"
#include "embed/engine_device.h"
#include "models/model.h"
#include "topology/cpu_features.h"

namespace hearth {

class GpuDevice : public EngineDevice {
 public:
  // Checks that the accelerator's shaders are right for the model's weights, then copies the
  // weights there. The weights in the host's memory are not read again. Throws Error: kUnsupported
  // if shaders are wrong, kResource if memory is short.
  GpuDevice(std::string name, std::shared_ptr<Accelerator> accelerator,
            std::shared_ptr<const Model> model, EngineOptions engine, const EmbedOptions& embed);

  DeviceKind kind() const override { return DeviceKind::kAccelerator; }
  // The GPU may be lost, or hang.
  bool remote() const override { return true; }
};

// Opens the accelerator that `gpu` names (choose_accelerator()) for a model of this spec. Throws
// Error: kUsage if none has that name, kUnsupported if the accelerator or the model cannot be used.
std::shared_ptr<Accelerator> open_gpu(const std::string& gpu, const ModelSpec& spec);

// Returns a text on how the bits of a GPU's vectors differ from those of cores at this ISA level;
// "" if they do not.
std::string bits_beside_cores(const ModelSpec& spec, Isa isa);

}  // namespace hearth
