// Copying what stays on an accelerator: a few large buffers, many places in them.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "accelerator/accelerator.h"

namespace hearth {

// The bytes to be copied, and the variable that gets their place.
struct Upload {
  std::span<const std::byte> bytes;
  Place* place;
};

// The memory that they take there.
uint64_t upload_bytes(std::span<const Upload> uploads);
// Takes memory for pieces of so many bytes, in as few buffers as it goes (a driver may have only
// some thousands), each piece at a multiple of 256 bytes; returns where they lie. Throws Error
// (kResource) where memory is short.
std::vector<Place> allocate_together(Accelerator& accelerator, std::span<const uint64_t> bytes,
                                     std::vector<Buffer>* buffers);
// Returns the buffers that they lie in, each at a multiple of 256 bytes. Throws Error (kResource)
// where memory is short.
std::vector<Buffer> upload_all(Accelerator& accelerator, std::span<const Upload> uploads);

}  // namespace hearth
