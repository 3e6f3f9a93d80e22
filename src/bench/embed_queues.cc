#include "bench/embed_queues.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace hearth {
namespace {

class Borrowed : public EmbedDevice {
 public:
  explicit Borrowed(EmbedDevice& device) : device_(device) {}
  const std::string& name() const override { return device_.name(); }
  DeviceKind kind() const override { return device_.kind(); }
  uint32_t width() const override { return device_.width(); }
  bool remote() const override { return device_.remote(); }
  std::vector<EmbedVector> run(std::span<const EmbedQuery* const> batch) override {
    return device_.run(batch);
  }

 private:
  EmbedDevice& device_;
};

}  // namespace

BenchQueues::BenchQueues(const std::vector<EmbedDevice*>& devices, const EmbedCase& one,
                         const std::vector<uint64_t>& depths, Admission admission,
                         DeviceClock& clock)
    : devices_(devices), clock_(clock) {
  std::vector<DeviceQueue> queues;
  for (size_t i = 0; i < devices.size(); ++i) {
    queues.push_back({std::make_unique<Borrowed>(*devices[i]), one.devices[i].line.per(one.length),
                      depths[i] * one.length});
  }
  DispatchOptions options;
  options.admission = admission;
  options.slo = one.slo;
  manager_ = std::make_unique<QueueManager>(std::move(queues), options, clock);
}

void BenchQueues::run_together(std::vector<EmbedQuery> texts, std::vector<double>* longest) {
  under_way_ = texts.size();
  double began = clock_.now();
  auto done = [&](size_t, EmbedOutcome outcome) {
    double took = clock_.now() - began;
    std::lock_guard lock(mutex_);
    if (outcome.error) failure_ = std::move(outcome.error);
    for (size_t i = 0; i < devices_.size(); ++i) {
      double& most = (*longest)[i];
      if (devices_[i]->name() == outcome.device) most = std::max(most, took);
    }
    --under_way_;
    changed_.notify_all();
  };
  if (manager_->submit_all(std::move(texts), done).admitted != Admitted::kAccepted) {
    fail(ErrorCode::kResource, "a device failed while it was measured: check it and measure again");
  }
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return under_way_ == 0; });
  if (failure_) throw *failure_;
}

bool BenchQueues::submit(EmbedQuery query, double due) {
  {
    std::lock_guard lock(mutex_);
    ++under_way_;
  }
  auto done = [this, due](EmbedOutcome outcome) {
    double took = clock_.now() - due;
    std::lock_guard lock(mutex_);
    if (!outcome.error) latencies_.push_back(took);
    --under_way_;
    changed_.notify_all();
  };
  if (manager_->submit(std::move(query), done).admitted == Admitted::kAccepted) return true;
  std::lock_guard lock(mutex_);
  --under_way_;
  return false;
}

std::vector<double> BenchQueues::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return under_way_ == 0; });
  return std::exchange(latencies_, {});
}

}  // namespace hearth
