#include "cli/pull_stop.h"

#include "base/error.h"
#include "cli/text_io.h"

namespace hearth {

void PullStop::end(bool whole) {
  finish();
  if (whole) return;
  print_note("stopped: what was fetched is kept, and the same command goes on with it");
  std::raise(SIGINT);
}

PulledModel pull_until_stopped(const StorePlaces& places, const HubName& name,
                               const PullOptions& options, const PullListener& listener) {
  PullStop stop;
  try {
    PulledModel pulled = pull_model(places, name, options, stop.stop(), listener);
    stop.end(pulled.whole);
    return pulled;
  } catch (const Error&) {
    // A request that was stopped is no error of the hub.
    if (stop.stop()) stop.end(false);
    throw;
  }
}

}  // namespace hearth
