// Runs calls on memory of the process, by the reference kernels: what they give is the contract.
#pragma once

#include <cstddef>
#include <functional>

#include "accelerator/kernel_calls.h"

namespace hearth {

// `at` returns where the bytes of a place lie, which are aligned as the call's places are. The call
// is one that check_call() lets pass. Throws Error (kRequest) where the rows of an AttendCall see
// what there is not.
void run_call(const KernelCall& call, const std::function<std::byte*(const Place&)>& at);

// The overloads below run calls over latents (run_latent.cc), which the above hands on to them.
using PlaceBytes = std::function<std::byte*(const Place&)>;
void run_call(const LatentStoreCall& call, const PlaceBytes& at);
void run_call(const LatentAttendCall& call, const PlaceBytes& at);
void run_call(const LatentExpandCall& call, const PlaceBytes& at);

}  // namespace hearth
