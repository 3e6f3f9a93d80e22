#include "threads/team.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <system_error>

#include "base/check.h"
#include "base/error.h"
#include "threads/pin.h"

namespace hearth {

Team::Team(const Placement& placement, const TeamOptions& options)
    : size_(static_cast<uint32_t>(placement.seats.size())) {
  HEARTH_CHECK(size_ > 0, "a team has members");
  if (options.pin_caller) {
    caller_tid_ = static_cast<int>(gettid());
    caller_affinity_ = get_affinity(caller_tid_);
  }
  // Starts workers first: they inherit the caller's affinity, which stays in effect if pinning
  // fails.
  start(&placement.seats);
  if (options.pin_caller) pin_errors_[0] = set_affinity(caller_tid_, {placement.seats[0].pu});
  for (uint32_t member = 0; member < size_; ++member) {
    if (pin_errors_[member] == 0) continue;
    warnings_.push_back(
        fmt::format("thread {} could not be pinned to CPU {} ({}) and runs unpinned", member,
                    placement.seats[member].pu, std::strerror(pin_errors_[member])));
  }
}

Team::Team(uint32_t size) : size_(size) {
  HEARTH_CHECK(size_ > 0, "a team has members");
  start(nullptr);
}

Team::~Team() {
  stop();
  // This fails only if the caller's thread has ended since, and then there is nothing to restore.
  if (!caller_affinity_.empty()) set_affinity(caller_tid_, caller_affinity_);
}

void Team::start(const std::vector<Seat>* seats) {
  done_ = std::make_unique<Flag[]>(size_);
  recalls_ = std::make_unique<Flag[]>(size_);
  all_.resize(size_);
  std::iota(all_.begin(), all_.end(), 0u);
  working_ = all_;
  works_.assign(size_, 1);
  leaving_.reserve(size_);
  recalled_.reserve(size_);
  pin_errors_.assign(size_, 0);
  workers_.reserve(size_ - 1);
  try {
    for (uint32_t member = 1; member < size_; ++member) {
      const Seat* seat = seats == nullptr ? nullptr : &(*seats)[member];
      workers_.emplace_back([this, member, seat] { work(member, seat); });
    }
  } catch (const std::system_error& error) {
    size_t started = workers_.size();
    stop();
    fail(ErrorCode::kResource,
         "only {} of {} threads could be started ({}): use fewer, or raise the process limit "
         "(ulimit -u)",
         started + 1, size_, error.what());
  }
  // Each worker pins itself in run 1.
  for (uint32_t member = 1; member < size_; ++member) done_[member].wait_at_least(1);
  start_.post(1);
}

void Team::stop() noexcept {
  job_ = nullptr;
  start_.post(start_.posted() + 2);
  for (uint32_t member = 1; member < size_; ++member) {
    recalls_[member].post(recalls_[member].posted() + 1);
  }
  for (std::thread& worker : workers_) worker.join();
  workers_.clear();
}

void Team::work(uint32_t member, const Seat* seat) noexcept {
  std::string name = fmt::format("hearth-{}", member);
  pthread_setname_np(pthread_self(), name.c_str());
  if (seat != nullptr) pin_errors_[member] = set_affinity(0, {seat->pu});
  uint32_t run = 1, recalls = 0;
  bool rests = false;
  done_[member].post(run);
  for (;;) {
    if (rests) {
      recalls_[member].wait_at_least(++recalls);
      if (job_ == nullptr) return;
      run = run_;
    } else {
      start_.wait_at_least(++run);
      if (job_ == nullptr) return;
    }
    rests = works_[member] == 0;
    if (!rests) job_(context_, member);
    done_[member].post(run);
  }
}

uint32_t Team::sleepers() const {
  uint32_t all = start_.sleepers();
  for (uint32_t member = 1; member < size_; ++member) all += recalls_[member].sleepers();
  return all;
}

// Sets which members work from now on. A member that goes to rest still sees the start of this run
// and confirms it; after that only its own recall wakes it.
void Team::change(std::span<const uint32_t> members) noexcept {
  for (uint32_t member : working_) works_[member] = 0;
  for (uint32_t member : members) {
    HEARTH_CHECK(member < size_, "members of this team");
    works_[member] = 1;
    bool rested = !std::binary_search(working_.begin(), working_.end(), member);
    if (rested && member > 0) recalled_.push_back(member);
  }
  for (uint32_t member : working_) {
    if (member > 0 && works_[member] == 0) leaving_.push_back(member);
  }
  working_.assign(members.begin(), members.end());
}

void Team::run_erased(std::span<const uint32_t> members, JobFn job, void* context) noexcept {
  HEARTH_CHECK(!running_.exchange(true, std::memory_order_acquire), "one run of a team at a time");
  HEARTH_CHECK(!members.empty(), "somebody works");
  if (!std::equal(members.begin(), members.end(), working_.begin(), working_.end())) {
    change(members);
  }
  job_ = job;
  context_ = context;
  const uint32_t run = ++run_;
  for (uint32_t member : recalled_) {
    // Epochs are only compared within 2^31 of each other, and the member may have rested for more
    // runs than that. So its flag is first set to the run before this one.
    done_[member].post(run - 1);
  }
  start_.post(run);
  for (uint32_t member : recalled_) recalls_[member].post(recalls_[member].posted() + 1);
  if (members[0] == 0) job(context, 0);
  for (uint32_t member : working_) {
    if (member > 0) done_[member].wait_at_least(run);
  }
  for (uint32_t member : leaving_) done_[member].wait_at_least(run);
  leaving_.clear();
  recalled_.clear();
  running_.store(false, std::memory_order_release);
}

}  // namespace hearth
