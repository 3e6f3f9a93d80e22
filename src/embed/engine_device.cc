#include "embed/engine_device.h"

#include <utility>

#include "threads/start_thread.h"

namespace hearth {

EngineDevice::EngineDevice(std::string name, const std::function<Made()>& make)
    : name_(std::move(name)) {
  const auto take = [&] {
    Made made = make();
    engine_ = std::move(made.engine);
    embedder_ = std::move(made.embedder);
  };
  thread_ = start_thread(take, [this] {
    work();
    // The thread that made the engine must destroy it, since it may be pinned as member 0 of the
    // engine's team.
    embedder_.reset();
    engine_.reset();
  });
}

EngineDevice::~EngineDevice() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void EngineDevice::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return texts_ != nullptr || stopping_; });
    if (stopping_) return;
    const Texts& texts = *texts_;
    lock.unlock();
    std::vector<EmbedVector> vectors;
    std::exception_ptr error;
    try {
      vectors = embedder_->run(texts);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    vectors_ = std::move(vectors);
    error_ = std::move(error);
    texts_ = nullptr;
    changed_.notify_all();
  }
}

std::vector<EmbedVector> EngineDevice::run(std::span<const EmbedQuery* const> batch) {
  Texts texts;
  for (const EmbedQuery* query : batch) texts.push_back({query->tokens, query->second});
  std::unique_lock lock(mutex_);
  texts_ = &texts;
  changed_.notify_all();
  changed_.wait(lock, [&] { return texts_ == nullptr; });
  if (error_ != nullptr) std::rethrow_exception(std::exchange(error_, nullptr));
  return std::move(vectors_);
}

}  // namespace hearth
