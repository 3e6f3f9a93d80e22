// The service is the engine as clients in other threads see it, and their only way to it. One
// thread of its own loads the engine, works as member 0 of its team and owns all sequences; clients
// submit requests, read results from their streams, cancel, and read figures.
//
//   Service service(load, tokenizer, {});
//   auto stream = std::make_shared<ResultStream>();
//   JobHandle job = service.submit(request, stream);
//   while (...) stream->pop(...);
//
// A client may vanish at any time: a request is cancelled when its handle dies, and closing a
// stream cancels what is on it. A cancelled request is gone at the next step, and a step that
// nobody waits for any more stops at its next layer. Every choice of a submitted request gets
// exactly one result with `finish`, unless its stream was closed.
//
// Speculative decoding will hook into Generation (which tokens are proposed) and Sequence
// (truncate), not here.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/job_handle.h"
#include "engine/scheduler.h"
#include "engine/step_turns.h"

namespace hearth {

struct ServiceOptions {
  SchedulerOptions scheduler;
  // Makes what computes long prompts beside the engine's steps (SchedulerOptions::streamer), which
  // calls `poke` whenever something has ended; empty: nothing does. Called on the service's thread.
  using MakeStreamer =
      std::function<std::unique_ptr<PromptStreamer>(Engine& engine, std::function<void()> poke)>;
  MakeStreamer make_streamer;
  // Requests that may wait to be admitted; more are refused.
  uint32_t max_waiting = 4096;
  // The turns that services on the same cores take; null: no other service is there.
  std::shared_ptr<StepTurns> turns;
};

class Service {
 public:
  using Load = std::function<std::unique_ptr<Engine>()>;

  // Calls `load` on the service's thread and returns when that is done. Throws what it throws.
  // `tokenizer` may be null: then there is no text. It must outlive the service.
  Service(const Load& load, const Tokenizer* tokenizer, const ServiceOptions& options);
  // Cancels whatever is under way.
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  // Gives the facts that do not change: spec(), options(), memory(), plans.
  const Engine& engine() const { return *engine_; }
  const ServiceOptions& options() const { return options_; }
  const Statistics& statistics() const { return *statistics_; }

  // Throws (kRequest, kUsage) where the request cannot be served (check_request), and (kBusy) where
  // too many wait already. From any thread. Once the handle cancelled the request, at most the step
  // under way and its last results still come. The handle may outlive the service.
  [[nodiscard]] JobHandle submit(Request request, std::shared_ptr<ResultStream> stream);

 private:
  // The mailbox is shared by the clients' threads and the service's thread. Streams keep it alive,
  // so that a client may read on after the service has ended.
  struct Mailbox {
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<std::shared_ptr<Job>> newcomers;
    bool poked = false;
    bool stopping = false;

    void poke();
  };

  void serve();
  void end();
  bool wait_for_work(bool idle, std::vector<std::shared_ptr<Job>>* newcomers);

  ServiceOptions options_;
  const Tokenizer* tokenizer_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<PromptStreamer> streamer_;
  std::unique_ptr<Scheduler> scheduler_;
  std::shared_ptr<Mailbox> mailbox_;
  std::unique_ptr<Statistics> statistics_;
  uint64_t last_id_ = 0;  // guarded by the mailbox's mutex
  std::thread thread_;
};

}  // namespace hearth
