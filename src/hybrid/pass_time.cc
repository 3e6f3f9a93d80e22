#include "hybrid/pass_time.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "kernels/attention/attention.h"

namespace hearth {
namespace {

PassTarget only_timed(PassTarget target) {
  target.only_timed = true;
  return target;
}

// Whether there is room is the plan's question.
MeasuredAccelerator roomy(MeasuredAccelerator gpu) {
  gpu.facts.free_bytes = gpu.facts.memory_bytes = UINT64_MAX;
  return gpu;
}

}  // namespace

PassClock::PassClock(PassTarget target, const MeasuredAccelerator& gpu, const StreamPlan& plan,
                     const TimedOptions& options)
    : target_(only_timed(std::move(target))),
      accelerator_(std::make_shared<TimedAccelerator>(roomy(gpu), options)),
      pass_(target_, accelerator_, plan) {}

PassFigures PassClock::figures(uint32_t rows, uint32_t first) {
  const std::vector<int32_t> tokens(rows, 0);
  const auto pages_of = [&](KvKind kind) {
    std::vector<uint32_t> pages(pages_for(first + rows));
    const uint32_t count = std::max(1u, target_.kv->page_count(kind));
    for (uint32_t i = 0; i < pages.size(); ++i) pages[i] = i % count;
    return pages;
  };
  const std::vector<uint32_t> pages = pages_of(KvKind::kFull);
  const std::vector<uint32_t> window_pages = pages_of(KvKind::kWindow);
  const PassText text{tokens, first, pages, window_pages};
  const TimedAccelerator& gpu = *accelerator_;
  const PassFigures before{gpu.now(), gpu.computing_seconds(), gpu.copying_seconds(),
                           gpu.bytes_in(), gpu.bytes_out()};
  AllWanted watch;
  pass_.run({&text, 1}, watch);
  return {gpu.now() - before.seconds, gpu.computing_seconds() - before.computing_seconds,
          gpu.copying_seconds() - before.copying_seconds, gpu.bytes_in() - before.bytes_in,
          gpu.bytes_out() - before.bytes_out};
}

PassTime::PassTime(const PassTarget& target, const MeasuredAccelerator& gpu, const StreamPlan& plan,
                   const TimedOptions& options) {
  constexpr uint32_t kFewest = 16;
  PassClock clock(target, gpu, plan, options);
  try {
    for (uint32_t rows = kFewest; rows < plan.rows; rows *= 2) {
      points_.emplace_back(rows, clock.seconds(rows));
    }
    points_.emplace_back(plan.rows, clock.seconds(plan.rows));
  } catch (const Error& error) {
    // More rows take still longer.
    if (error.code() != ErrorCode::kResource) throw;
  }
}

double PassTime::seconds(uint32_t rows) const {
  if (points_.empty() || rows > points_.back().first) {
    return std::numeric_limits<double>::infinity();
  }
  return value_at(points_, rows);
}

}  // namespace hearth
