// Runs calls on memory of the process with the reference kernels. What they compute is the right
// result.
#pragma once

#include <cstddef>
#include <functional>

#include "accelerator/kernel_calls.h"

namespace hearth {

// Runs a call that check_call() accepts. at(place) returns the bytes at a place, aligned as the
// call's places must be. Throws Error (kRequest) where rows see positions that do not exist, or
// experts have places that do not exist.
void run_call(const KernelCall& call, const std::function<std::byte*(const Place&)>& at);

// The overloads for calls over latents (run_latent.cc); the function above calls them.
using PlaceBytes = std::function<std::byte*(const Place&)>;
void run_call(const LatentStoreCall& call, const PlaceBytes& at);
void run_call(const LatentAttendCall& call, const PlaceBytes& at);
void run_call(const LatentExpandCall& call, const PlaceBytes& at);

}  // namespace hearth
