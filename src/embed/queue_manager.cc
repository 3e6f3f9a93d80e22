#include "embed/queue_manager.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <new>
#include <thread>
#include <unordered_map>
#include <utility>

#include "base/check.h"
#include "embed/run_batch.h"

namespace hearth {
namespace {

// The most seconds that a thread sleeps, as the machine's clock may differ from the manager's.
constexpr double kLongestWait = 1;
// Seconds between two calls of the `stop` of a caller that waits for room.
constexpr double kLookUp = 0.1;

// The reason why queries were not answered.
struct Failure {
  const Error& error;
  bool no_memory = false;
  bool gone = false;  // whether their device is gone
};

}  // namespace

struct QueueManager::State {
  struct Pending {
    EmbedQuery query;
    EmbedDone done;
    DispatchQuery place;
    uint64_t refused = 0;  // a bit for each device that failed with it
  };
  // A callback and its outcome.
  struct Answer {
    EmbedDone done;
    EmbedOutcome outcome;
  };

  State(std::vector<DeviceQueue> queues, const DispatchOptions& dispatch_options,
        DeviceClock& device_clock, EmbedQuery probe_query)
      : options(dispatch_options),
        clock(device_clock),
        probe_with(std::move(probe_query)),
        dispatcher(queue_options(queues), dispatch_options),
        down_since(queues.size(), std::numeric_limits<double>::infinity()) {
    for (DeviceQueue& queue : queues) devices.push_back(std::move(queue.device));
    try {
      for (size_t i = 0; i < devices.size(); ++i) threads.emplace_back([this, i] { serve(i); });
    } catch (...) {
      join();
      throw;
    }
  }

  static std::vector<QueueOptions> queue_options(const std::vector<DeviceQueue>& queues) {
    std::vector<QueueOptions> out;
    for (const DeviceQueue& queue : queues) {
      if (queue.device->width() != queues[0].device->width()) {
        fail(ErrorCode::kUnsupported,
             "{} returns vectors of {} elements and {} of {}: use one model on all devices",
             queues[0].device->name(), queues[0].device->width(), queue.device->name(),
             queue.device->width());
      }
      out.push_back(
          {queue.device->name(), queue.device->kind(), queue.line, queue.slots, queue.batch});
    }
    return out;
  }

  void join();
  void serve(size_t index);
  void turn(size_t index, std::unique_lock<std::mutex>& lock);
  void break_off(size_t index, std::unique_lock<std::mutex>& lock);
  void drop(size_t index, std::unique_lock<std::mutex>& lock);
  static void notify(std::vector<Answer>& answers, std::unique_lock<std::mutex>& lock);
  void run(size_t index, const std::vector<uint64_t>& ids, std::unique_lock<std::mutex>& lock);
  void probe(size_t index, std::unique_lock<std::mutex>& lock);
  void take(size_t index, const std::vector<uint64_t>& ids, BatchResult result, double now,
            std::vector<Answer>* answers);
  void take_failure(size_t index, const std::vector<uint64_t>& ids, const Error& error, double now,
                    std::vector<Answer>* answers);
  void place_again(const std::vector<uint64_t>& ids, const Failure& failure, double now,
                   std::vector<Answer>* answers);
  std::optional<EmbedOutcome> offer_again(Pending& one, const Failure& failure, double now);
  EmbedOutcome shortage_outcome() const { return {.error = no_memory, .no_memory = true}; }
  void answer(uint64_t id, EmbedOutcome outcome, std::vector<Answer>* answers);
  void wait(size_t index, std::unique_lock<std::mutex>& lock);
  SubmitResult offer(EmbedQuery* query, EmbedDone done, uint64_t group, double now);
  using SharedDone = std::shared_ptr<std::function<void(size_t, EmbedOutcome)>>;
  SubmitResult offer_all(std::vector<EmbedQuery>& queries, const SharedDone& done);
  uint64_t take_back(uint64_t first, uint64_t count);
  bool nobody_for(uint64_t tokens, double patience, double now) const;

  const DispatchOptions options;
  DeviceClock& clock;
  const EmbedQuery probe_with;
  // The error for a shortage of memory, made in advance.
  const Error no_memory{ErrorCode::kResource, "memory is short"};
  mutable std::mutex mutex;
  // The mutex guards the following.
  Dispatcher dispatcher;
  std::unordered_map<uint64_t, Pending> pending;
  uint64_t next_id = 1, refused = 0;
  bool closing = false;
  std::vector<double> down_since;
  std::optional<Error> last_failure;
  std::condition_variable work, room;

  std::vector<std::unique_ptr<EmbedDevice>> devices;
  std::vector<std::thread> threads;
};

// Moves a query's answer to `answers`, which has room, so that a shortage of memory loses nothing.
void QueueManager::State::answer(uint64_t id, EmbedOutcome outcome, std::vector<Answer>* answers) {
  auto found = pending.find(id);
  HEARTH_CHECK(found != pending.end(), "a query is answered once");
  answers->push_back({std::move(found->second.done), std::move(outcome)});
  pending.erase(found);
}

// Offers a query again. Returns no outcome if another device took it.
std::optional<EmbedOutcome> QueueManager::State::offer_again(Pending& one, const Failure& failure,
                                                             double now) {
  DispatchResult offered;
  if (!closing) offered = dispatcher.offer(one.place, now, one.refused);
  if (offered.admitted == Admitted::kAccepted) return {};
  if (failure.no_memory) return shortage_outcome();
  EmbedOutcome outcome;
  if (failure.gone) {
    outcome.error.emplace(ErrorCode::kBusy, fmt::format("no device has room for the text now; {}",
                                                        failure.error.what()));
    outcome.retry_after = offered.retry_after;
  } else {
    outcome.error = failure.error;
  }
  return outcome;
}

// Offers a device's queries to the others. Queries that none takes become BUSY if the device is
// gone, else get the error. `answers` must have room for all.
void QueueManager::State::place_again(const std::vector<uint64_t>& ids, const Failure& failure,
                                      double now, std::vector<Answer>* answers) {
  for (uint64_t id : ids) {
    std::optional<EmbedOutcome> outcome;
    try {
      outcome = offer_again(pending.at(id), failure, now);
    } catch (const std::bad_alloc&) {
      outcome = shortage_outcome();
    }
    if (outcome) answer(id, *std::move(outcome), answers);
  }
  work.notify_all();
}

void QueueManager::State::take_failure(size_t index, const std::vector<uint64_t>& ids,
                                       const Error& error, double now,
                                       std::vector<Answer>* answers) {
  if (error.code() == ErrorCode::kRequest) {
    if (ids.size() > 1) {
      dispatcher.part(index, now);
      return;
    }
    EmbedOutcome outcome;
    outcome.error = error;
    outcome.device = devices[index]->name();
    answers->reserve(1);
    dispatcher.finish(index, now);
    answer(ids[0], std::move(outcome), answers);
    return;
  }
  last_failure = error;
  answers->reserve(pending.size());
  for (uint64_t id : ids) pending.at(id).refused |= uint64_t{1} << index;
  if (!devices[index]->remote()) {
    place_again(dispatcher.give_up(index, now), {.error = error}, now, answers);
    return;
  }
  down_since[index] = now;
  place_again(dispatcher.fail(index, now), {.error = error, .gone = true}, now, answers);
}

void QueueManager::State::take(size_t index, const std::vector<uint64_t>& ids, BatchResult result,
                               double now, std::vector<Answer>* answers) {
  if (result.error) {
    take_failure(index, ids, *result.error, now, answers);
    return;
  }
  std::vector<EmbedOutcome> outcomes(ids.size());
  for (EmbedOutcome& outcome : outcomes) outcome.device = devices[index]->name();
  answers->reserve(ids.size());
  dispatcher.finish(index, now);
  for (size_t i = 0; i < ids.size(); ++i) {
    outcomes[i].vector = std::move(result.vectors[i]);
    answer(ids[i], std::move(outcomes[i]), answers);
  }
}

void QueueManager::State::run(size_t index, const std::vector<uint64_t>& ids,
                              std::unique_lock<std::mutex>& lock) {
  std::vector<const EmbedQuery*> batch;
  for (uint64_t id : ids) batch.push_back(&pending.at(id).query);
  lock.unlock();
  // Pointers to these queries stay valid: only this thread may erase them from `pending` now.
  BatchResult result = run_batch(*devices[index], batch);
  std::vector<Answer> answers;
  lock.lock();
  take(index, ids, std::move(result), clock.now(), &answers);
  room.notify_all();
  notify(answers, lock);
}

void QueueManager::State::probe(size_t index, std::unique_lock<std::mutex>& lock) {
  lock.unlock();
  double began = clock.now();
  BatchResult result = run_batch(*devices[index], {&probe_with});
  double now = clock.now();
  lock.lock();
  if (result.error) {
    last_failure = result.error;
    dispatcher.probed(index, now, std::nullopt, 0);
    return;
  }
  dispatcher.probed(index, now, now - began, query_tokens(probe_with));
  down_since[index] = std::numeric_limits<double>::infinity();
  room.notify_all();
}

void QueueManager::State::wait(size_t index, std::unique_lock<std::mutex>& lock) {
  double left = dispatcher.wake_at(index) - clock.now();
  if (left == std::numeric_limits<double>::infinity()) {
    work.wait(lock);
  } else if (left > 0) {
    work.wait_for(lock, std::chrono::duration<double>(std::min(left, kLongestWait)));
  }
}

// Calls the answers' callbacks, and releases the lock while they run.
void QueueManager::State::notify(std::vector<Answer>& answers, std::unique_lock<std::mutex>& lock) {
  lock.unlock();
  for (Answer& one : answers) {
    try {
      one.done(std::move(one.outcome));
    } catch (const std::exception&) {
      // The other callbacks are still called: this one only lacked memory.
    }
  }
  lock.lock();
}

void QueueManager::State::turn(size_t index, std::unique_lock<std::mutex>& lock) {
  double now = clock.now();
  std::vector<uint64_t> ids = dispatcher.begin(index, now);
  if (!ids.empty()) {
    // The other threads now also wake up when this device would count as stalled.
    work.notify_all();
    run(index, ids, lock);
  } else if (dispatcher.probe_due(index, now)) {
    probe(index, lock);
  } else if (size_t count = dispatcher.count_stalled(now); count > 0) {
    Error silent(ErrorCode::kBusy, "a device does not answer");
    std::vector<Answer> answers;
    answers.reserve(count);
    place_again(dispatcher.stalled(now), {.error = silent, .gone = true}, now, &answers);
    notify(answers, lock);
  } else {
    wait(index, lock);
  }
}

// Moves a batch's queries to other devices or fails them: the device's thread ran out of memory.
void QueueManager::State::break_off(size_t index, std::unique_lock<std::mutex>& lock) {
  double now = clock.now();
  if (dispatcher.probe_due(index, now)) return dispatcher.probed(index, now, std::nullopt, 0);
  if (dispatcher.running(index) == 0) {
    // Memory may soon be free again.
    work.wait_for(lock, std::chrono::duration<double>(kLookUp));
    return;
  }
  std::vector<Answer> answers;
  answers.reserve(dispatcher.running(index));
  std::vector<uint64_t> ids = dispatcher.give_up(index, now);
  for (uint64_t id : ids) pending.at(id).refused |= uint64_t{1} << index;
  place_again(ids, {.error = no_memory, .no_memory = true}, now, &answers);
  room.notify_all();
  notify(answers, lock);
}

// Fails the queries that a device runs or, if it runs none, the waiting ones, with a shortage of
// memory. It needs no memory itself. Queries that were offered later stay.
void QueueManager::State::drop(size_t index, std::unique_lock<std::mutex>& lock) {
  const uint64_t end = next_id;
  const bool runs = dispatcher.running(index) > 0;
  while (std::optional<uint64_t> id = dispatcher.drop(index, end, clock.now())) {
    auto one = pending.extract(*id);
    lock.unlock();
    try {
      std::exchange(one.mapped().done, nullptr)(shortage_outcome());
    } catch (const std::exception&) {
      // A callback may throw for want of memory, as in notify().
    }
    one = {};
    lock.lock();
    if (runs && dispatcher.running(index) == 0) break;
  }
  room.notify_all();
}

// Serves a device. All exceptions on its thread end here.
void QueueManager::State::serve(size_t index) {
  std::unique_lock lock(mutex);
  bool broken = false;
  while (!closing) {
    try {
      if (broken) break_off(index, lock);
      // break_off() releases the lock for a time, so `closing` may be set now.
      if (!closing) turn(index, lock);
      broken = false;
    } catch (...) {
      if (!lock.owns_lock()) lock.lock();
      // The second shortage in a row drops queries: other work may need the memory that they hold.
      if (std::exchange(broken, true)) drop(index, lock);
    }
  }
}

void QueueManager::State::join() {
  {
    std::lock_guard lock(mutex);
    closing = true;
  }
  work.notify_all();
  for (const std::unique_ptr<EmbedDevice>& device : devices) device->abandon();
  for (std::thread& thread : threads) thread.join();
}

SubmitResult QueueManager::State::offer(EmbedQuery* query, EmbedDone done, uint64_t group,
                                        double now) {
  DispatchQuery place{next_id, query_tokens(*query), now + options.slo, group};
  // This comes first: every query that the dispatcher knows must be answered.
  auto held = pending.emplace(place.id, Pending{std::move(*query), std::move(done), place}).first;
  DispatchResult offered;
  try {
    offered = dispatcher.offer(place, now);
  } catch (...) {
    pending.erase(held);
    throw;
  }
  SubmitResult result{offered.admitted, offered.retry_after, 0};
  if (offered.admitted == Admitted::kAccepted) {
    result.ticket = next_id++;
  } else {
    *query = std::move(held->second.query);
    pending.erase(held);
  }
  return result;
}

// Offers all queries. If one is refused, takes back those before it: the lock is held, so no batch
// with them has begun.
SubmitResult QueueManager::State::offer_all(std::vector<EmbedQuery>& queries,
                                            const SharedDone& done) {
  SubmitResult first;
  if (queries.empty()) first.admitted = Admitted::kAccepted;
  double now = clock.now();
  uint64_t begin = next_id;
  std::vector<uint64_t> tokens;
  for (const EmbedQuery& query : queries) tokens.push_back(query_tokens(query));
  for (size_t i = 0; i < queries.size(); ++i) {
    EmbedDone one = [done, i](EmbedOutcome outcome) { (*done)(i, std::move(outcome)); };
    SubmitResult result = offer(&queries[i], std::move(one), begin, now);
    if (i == 0) first = result;
    if (result.admitted == Admitted::kAccepted) continue;
    HEARTH_CHECK(take_back(begin, next_id - begin) == i, "no batch began meanwhile");
    refused += queries.size();
    result.ticket = 0;
    if (!dispatcher.could_take(tokens)) result.admitted = Admitted::kTooLong;
    return result;
  }
  return first;
}

// Takes back queries that still wait and returns how many. Needs no memory.
uint64_t QueueManager::State::take_back(uint64_t first, uint64_t count) {
  return dispatcher.withdraw(first, count, [this](uint64_t id) { pending.erase(id); });
}

bool QueueManager::State::nobody_for(uint64_t tokens, double patience, double now) const {
  bool failed = false;
  for (size_t i = 0; i < devices.size(); ++i) {
    if (!dispatcher.could_take(i, tokens)) continue;
    if (dispatcher.up(i) || now < down_since[i] + patience) return false;
    failed = true;
  }
  return failed;
}

QueueManager::QueueManager(std::vector<DeviceQueue> queues, const DispatchOptions& options,
                           DeviceClock& clock, EmbedQuery probe)
    : state_(std::make_unique<State>(std::move(queues), options, clock, std::move(probe))) {}

QueueManager::~QueueManager() {
  state_->join();
  while (!state_->pending.empty()) {
    auto one = state_->pending.extract(state_->pending.begin());
    try {
      EmbedOutcome outcome;
      outcome.error.emplace(ErrorCode::kBusy, "the program is ending");
      one.mapped().done(std::move(outcome));
    } catch (const std::exception&) {
      // A callback that lacks memory for its answer ends with the program.
    }
  }
}

SubmitResult QueueManager::submit(EmbedQuery query, EmbedDone done) {
  SubmitResult result;
  {
    std::lock_guard lock(state_->mutex);
    result = state_->offer(&query, std::move(done), state_->next_id, state_->clock.now());
    if (result.admitted != Admitted::kAccepted) ++state_->refused;
  }
  if (result.admitted == Admitted::kAccepted) state_->work.notify_all();
  return result;
}

SubmitResult QueueManager::submit_all(std::vector<EmbedQuery> queries,
                                      const std::function<void(size_t index, EmbedOutcome)>& done) {
  auto shared = std::make_shared<std::function<void(size_t, EmbedOutcome)>>(done);
  SubmitResult result;
  {
    std::lock_guard lock(state_->mutex);
    uint64_t begin = state_->next_id;
    try {
      result = state_->offer_all(queries, shared);
    } catch (const std::bad_alloc&) {
      state_->take_back(begin, state_->next_id - begin);
      throw;
    }
  }
  if (result.admitted == Admitted::kAccepted) state_->work.notify_all();
  return result;
}

bool QueueManager::submit_waiting(EmbedQuery query, EmbedDone done, double patience,
                                  const std::function<bool()>& stop) {
  std::unique_lock lock(state_->mutex);
  while (true) {
    double now = state_->clock.now();
    SubmitResult result = state_->offer(&query, done, 0, now);
    if (result.admitted == Admitted::kAccepted) break;
    if (result.admitted == Admitted::kTooLong) {
      fail(ErrorCode::kRequest,
           "a text of {} tokens is longer than every queue: shorten it, or raise --embed-queue",
           query_tokens(query));
    }
    if (stop()) return false;
    if (state_->nobody_for(query_tokens(query), patience, now)) throw *state_->last_failure;
    double wait = std::clamp(result.retry_after, 1e-3, kLookUp);
    state_->room.wait_for(lock, std::chrono::duration<double>(wait));
  }
  lock.unlock();
  state_->work.notify_all();
  return true;
}

uint64_t QueueManager::cancel(uint64_t ticket, uint64_t count) {
  uint64_t taken = 0;
  {
    std::lock_guard lock(state_->mutex);
    taken = state_->take_back(ticket, count);
  }
  if (taken > 0) state_->room.notify_all();
  return taken;
}

std::vector<DeviceStatistics> QueueManager::statistics() const {
  std::lock_guard lock(state_->mutex);
  std::vector<DeviceStatistics> out;
  for (size_t i = 0; i < state_->devices.size(); ++i) {
    out.push_back(state_->dispatcher.statistics(i));
  }
  return out;
}

uint64_t QueueManager::refused() const {
  std::lock_guard lock(state_->mutex);
  return state_->refused;
}

uint32_t QueueManager::width() const { return state_->devices[0]->width(); }

}  // namespace hearth
