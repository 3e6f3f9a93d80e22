#include "embed/cpu_pool.h"

#include <future>
#include <optional>
#include <utility>

namespace hearth {

CpuPool::CpuPool(std::string name, const Load& load, const EmbedOptions& options)
    : name_(std::move(name)) {
  std::promise<void> loaded;
  std::future<void> done = loaded.get_future();
  thread_ = std::thread([this, &load, &loaded, options] {
    std::optional<Embedder> embedder;
    try {
      engine_ = load();
      embedder.emplace(*engine_, options);
      width_ = embedder->width();
    } catch (...) {
      engine_.reset();
      loaded.set_exception(std::current_exception());
      return;
    }
    loaded.set_value();
    work(*embedder);
    // The engine is destroyed by the thread that made it, around which its team is pinned.
    engine_.reset();
  });
  try {
    done.get();
  } catch (...) {
    thread_.join();
    throw;
  }
}

CpuPool::~CpuPool() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void CpuPool::work(Embedder& embedder) {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return texts_ != nullptr || stopping_; });
    if (stopping_) return;
    const Texts& texts = *texts_;
    lock.unlock();
    std::vector<EmbedVector> vectors;
    std::exception_ptr error;
    try {
      vectors = embedder.run(texts);
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

std::vector<EmbedVector> CpuPool::run(std::span<const EmbedQuery* const> batch) {
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
