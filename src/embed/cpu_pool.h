// CpuPool: cores of this machine as a device: an engine with its own copy of the model, on a thread
// of its own, which is member 0 of the engine's team.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "embed/device.h"
#include "embed/embedder.h"

namespace hearth {

class CpuPool : public EmbedDevice {
 public:
  // Makes an engine with embed_engine_options().
  using Load = std::function<std::unique_ptr<Engine>()>;

  // Calls `load` on the pool's thread and returns when that is done. Throws what it throws.
  CpuPool(std::string name, const Load& load, const EmbedOptions& options);
  ~CpuPool() override;
  CpuPool(const CpuPool&) = delete;
  CpuPool& operator=(const CpuPool&) = delete;

  const std::string& name() const override { return name_; }
  DeviceKind kind() const override { return DeviceKind::kCpu; }
  uint32_t width() const override { return width_; }
  // By the queries' ids; as Embedder::run(). One call at a time.
  std::vector<EmbedVector> run(std::span<const EmbedQuery* const> batch) override;

  // The facts that do not change: spec(), options(), placement, memory.
  const Engine& engine() const { return *engine_; }
  // The most tokens of a text.
  uint32_t context() const { return engine_->context(); }
  // The tokens of one step, which is as many as a batch needs to be quick.
  uint32_t batch_tokens() const { return engine_->options().prefill_rows; }

 private:
  using Texts = std::vector<EmbedText>;

  void work(Embedder& embedder);

  std::string name_;
  uint32_t width_ = 0;
  std::unique_ptr<Engine> engine_;

  std::mutex mutex_;
  std::condition_variable changed_;
  const Texts* texts_ = nullptr;  // to compute now; null: nothing is
  std::vector<EmbedVector> vectors_;
  std::exception_ptr error_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace hearth
