// EngineDevice: an engine of this machine as a device. The device's thread makes the engine, steps
// it and ends it.
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

class EngineDevice : public EmbedDevice {
 public:
  ~EngineDevice() override;
  EngineDevice(const EngineDevice&) = delete;
  EngineDevice& operator=(const EngineDevice&) = delete;

  const std::string& name() const override { return name_; }
  uint32_t width() const override { return embedder_->width(); }
  // Runs the queries' ids as Embedder::run() does. One call at a time.
  std::vector<EmbedVector> run(std::span<const EmbedQuery* const> batch) override;

  // Returns the engine, for facts that do not change: spec(), options().
  const StepEngine& engine() const { return *engine_; }
  // Returns the most tokens of a text.
  uint32_t context() const { return engine_->context(); }
  // Returns the tokens of one step, which are enough for an efficient batch.
  uint32_t batch_tokens() const { return engine_->options().prefill_rows; }

 protected:
  // An engine with embed_engine_options(), and the Embedder that uses it.
  struct Made {
    std::unique_ptr<StepEngine> engine;
    std::unique_ptr<Embedder> embedder;
  };

  // Calls `make` on the device's thread, and returns when that call has ended. Throws the errors of
  // `make`.
  EngineDevice(std::string name, const std::function<Made()>& make);

 private:
  using Texts = std::vector<EmbedText>;

  void work();

  std::string name_;
  std::unique_ptr<StepEngine> engine_;
  std::unique_ptr<Embedder> embedder_;

  std::mutex mutex_;
  std::condition_variable changed_;
  const Texts* texts_ = nullptr;  // the texts to compute now; null: none
  std::vector<EmbedVector> vectors_;
  std::exception_ptr error_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace hearth
