#include "engine/service.h"

#include "base/error.h"
#include "engine/check_request.h"
#include "threads/start_thread.h"

namespace hearth {

void Service::Mailbox::poke() {
  {
    std::lock_guard lock(mutex);
    poked = true;
  }
  changed.notify_one();
}

Service::Service(const Load& load, const Tokenizer* tokenizer, const ServiceOptions& options)
    : options_(options),
      tokenizer_(tokenizer),
      mailbox_(std::make_shared<Mailbox>()),
      statistics_(std::make_unique<Statistics>()) {
  const auto begin = [this, &load] {
    try {
      engine_ = load();
      if (options_.make_streamer) {
        // Making the streamer measures the cores and the accelerator, so others' steps must not
        // run.
        StepTurns::Place place(options_.turns.get());
        place.begin_step();
        streamer_ = options_.make_streamer(*engine_, [mailbox = mailbox_] { mailbox->poke(); });
        options_.scheduler.streamer = streamer_.get();
      }
      scheduler_ =
          std::make_unique<Scheduler>(*engine_, tokenizer_, options_.scheduler, *statistics_);
    } catch (...) {
      end();
      throw;
    }
  };
  thread_ = start_thread(begin, [this] {
    serve();
    end();
  });
}

// Ends the service's objects; the service's thread calls it. The thread that made an engine must
// destroy it, since its team is pinned around that thread. Passes write to pages of sequences that
// the scheduler holds, so the streamer ends first.
void Service::end() {
  streamer_.reset();
  scheduler_.reset();
  engine_.reset();
}

Service::~Service() {
  {
    std::lock_guard lock(mailbox_->mutex);
    mailbox_->stopping = true;
  }
  mailbox_->changed.notify_one();
  thread_.join();
}

JobHandle Service::submit(Request request, std::shared_ptr<ResultStream> stream) {
  check_request(request, *engine_, tokenizer_, *stream);
  stream->set_on_room([mailbox = mailbox_] { mailbox->poke(); });
  JobHandle handle;  // destroyed after the lock is released, as it takes the lock
  {
    std::lock_guard lock(mailbox_->mutex);
    uint64_t waiting = statistics_->waiting + mailbox_->newcomers.size();
    if (waiting >= options_.max_waiting) {
      fail(ErrorCode::kBusy, "{} requests are already waiting: try again later", waiting);
    }
    auto job = std::make_shared<Job>(++last_id_, std::move(request), std::move(stream));
    // A job that has ended no longer exists.
    handle = {job->id(), [mailbox = mailbox_, weak = std::weak_ptr(job)] {
                if (auto under_way = weak.lock()) {
                  under_way->cancel();
                  mailbox->poke();
                }
              }};
    mailbox_->newcomers.push_back(std::move(job));
    mailbox_->poked = true;
  }
  statistics_->requests.add(1);
  mailbox_->changed.notify_one();
  return handle;
}

// Takes the jobs that came in. With `idle`, waits for one first. Returns false at the end.
bool Service::wait_for_work(bool idle, std::vector<std::shared_ptr<Job>>* newcomers) {
  std::unique_lock lock(mailbox_->mutex);
  if (idle) {
    mailbox_->changed.wait(lock, [&] { return mailbox_->poked || mailbox_->stopping; });
  }
  mailbox_->poked = false;
  newcomers->swap(mailbox_->newcomers);
  return !mailbox_->stopping;
}

void Service::serve() {
  Scheduler& scheduler = *scheduler_;
  StepTurns::Place place(options_.turns.get());
  bool idle = true;
  for (;;) {
    std::vector<std::shared_ptr<Job>> newcomers;
    bool on = wait_for_work(idle, &newcomers);
    for (std::shared_ptr<Job>& job : newcomers) scheduler.add(std::move(job));
    if (!on) break;
    try {
      if (const auto waited = place.begin_step()) scheduler.note_wait(*waited);
      idle = !scheduler.step();
    } catch (const std::exception& error) {
      // Requests were checked, so the error is a lack of memory or a bug. It ends the requests, not
      // the service.
      scheduler.end_all(Finish::kFailed, failure_text(error));
    }
    place.end_step();
    if (idle) place.end_turn();
  }
  scheduler.end_all(Finish::kCancelled);
}

}  // namespace hearth
