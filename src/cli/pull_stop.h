// Lets Ctrl-C stop a fetch from a hub: at the first Ctrl-C the fetch ends and keeps what was
// received, then the process ends by the signal.
#pragma once

#include <atomic>
#include <functional>

#include "store/pull.h"

namespace hearth {

PulledModel pull_until_stopped(const StorePlaces& places, const HubName& name,
                               const PullOptions& options, const PullListener& listener);

// Runs a request to a hub that is no fetch, and so keeps nothing when it is stopped.
void ask_until_stopped(const std::function<void(const std::atomic<bool>& stop)>& ask);

}  // namespace hearth
