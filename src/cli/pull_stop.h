// Lets Ctrl-C stop a fetch from a hub: the first one lets it come to an end that keeps what came,
// and the process then ends by the signal.
#pragma once

#include <atomic>
#include <functional>

#include "store/pull.h"

namespace hearth {

PulledModel pull_until_stopped(const StorePlaces& places, const HubName& name,
                               const PullOptions& options, const PullListener& listener);

// Runs any other exchange with a hub, which keeps nothing.
void ask_until_stopped(const std::function<void(const std::atomic<bool>& stop)>& ask);

}  // namespace hearth
