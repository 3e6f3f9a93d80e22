// CpuPool: a device that computes on cores of this machine, by an engine with a copy of the model.
// The device's thread is member 0 of the engine's team.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "embed/engine_device.h"
#include "engine/engine.h"

namespace hearth {

class CpuPool : public EngineDevice {
 public:
  // Makes an engine with embed_engine_options().
  using Load = std::function<std::unique_ptr<Engine>()>;

  // Calls `load` on the pool's thread. Throws the errors of `load`.
  CpuPool(std::string name, const Load& load, const EmbedOptions& options);

  DeviceKind kind() const override { return DeviceKind::kCpu; }
  // Returns the engine, which also has its placement, memory and model.
  const Engine& engine() const { return static_cast<const Engine&>(EngineDevice::engine()); }
};

}  // namespace hearth
