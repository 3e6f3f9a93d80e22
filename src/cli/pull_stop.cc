#include "cli/pull_stop.h"

#include <thread>

#include "base/error.h"
#include "cli/interrupts.h"
#include "cli/text_io.h"

namespace hearth {
namespace {

class PullStop {
 public:
  PullStop()
      : watcher_([this] {
          while (!over_) {
            if (interrupts_.received()) stop_ = true;
            std::this_thread::sleep_for(kLookUp);
          }
        }) {}
  ~PullStop() { finish(); }
  PullStop(const PullStop&) = delete;
  PullStop& operator=(const PullStop&) = delete;

  const std::atomic<bool>& stop() const { return stop_; }
  // Ends the process by the received signal.
  void die() {
    finish();
    std::raise(SIGINT);
  }

 private:
  void finish() {
    over_ = true;
    if (watcher_.joinable()) watcher_.join();
  }

  Interrupts interrupts_;
  std::atomic<bool> stop_{false}, over_{false};
  std::thread watcher_;
};

void die_of_pull(PullStop* stop) {
  print_note("stopped; what was downloaded is kept: run the same command again to continue");
  stop->die();
}

}  // namespace

PulledModel pull_until_stopped(const StorePlaces& places, const HubName& name,
                               const PullOptions& options, const PullListener& listener) {
  PullStop stop;
  try {
    PulledModel pulled = pull_model(places, name, options, stop.stop(), listener);
    if (!pulled.whole) die_of_pull(&stop);
    return pulled;
  } catch (const Error&) {
    // A stopped request throws, but that is not an error of the hub.
    if (stop.stop()) die_of_pull(&stop);
    throw;
  }
}

void ask_until_stopped(const std::function<void(const std::atomic<bool>& stop)>& ask) {
  PullStop stop;
  try {
    ask(stop.stop());
  } catch (const Error&) {
    if (!stop.stop()) throw;
  }
  if (stop.stop()) stop.die();
}

}  // namespace hearth
