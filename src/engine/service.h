// The service is the engine as clients in other threads see it, and their only access to it. A
// thread of its own loads the engine, works as member 0 of its team and owns all sequences. Clients
// submit requests, read results from their streams, cancel, and read statistics.
//
//   Service service(load, tokenizer, {});
//   auto stream = std::make_shared<ResultStream>();
//   JobHandle job = service.submit(request, stream);
//   while (...) stream->pop(...);
//
// A client may vanish at any time: a request is cancelled when its handle is destroyed, and closing
// a stream cancels its requests. A cancelled request ends at the next step, and a step whose
// results are no longer wanted stops at its next layer. Every choice of a submitted request gets
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
  // Makes the streamer that computes long prompts beside the engine's steps
  // (SchedulerOptions::streamer), and calls `poke` whenever one has ended. Empty: there is no
  // streamer. It is called on the service's thread.
  using MakeStreamer =
      std::function<std::unique_ptr<PromptStreamer>(Engine& engine, std::function<void()> poke)>;
  MakeStreamer make_streamer;
  // Requests that may wait to be admitted; more are refused.
  uint32_t max_waiting = 4096;
  // The turns of services that share cores; null: this is the only one.
  std::shared_ptr<StepTurns> turns;
};

class Service {
 public:
  using Load = std::function<std::unique_ptr<Engine>()>;

  // Calls `load` on the service's thread, and returns when that call has ended. Throws the errors
  // of `load`. `tokenizer` may be null: then there is no text. It must outlive the service.
  Service(const Load& load, const Tokenizer* tokenizer, const ServiceOptions& options);
  // Cancels all requests.
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  // Returns the engine, for facts that do not change: spec(), options(), memory(), plans.
  const Engine& engine() const { return *engine_; }
  const ServiceOptions& options() const { return options_; }
  const Statistics& statistics() const { return *statistics_; }

  // Throws Error (kRequest, kUsage) if the request cannot be served (check_request), and kBusy if
  // too many wait already. Any thread may submit. After the handle cancelled the request, only the
  // step under way and its last results still come. The handle may outlive the service.
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
