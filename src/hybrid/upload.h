// Copies data that stays on an accelerator into a few large buffers with many places in them.
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

// Returns the bytes that the uploads take on the accelerator.
uint64_t upload_bytes(std::span<const Upload> uploads);
// Allocates pieces of these numbers of bytes in as few buffers as possible, since a driver may
// allow only some thousands of buffers. Each piece begins at a multiple of 256 bytes. Appends the
// buffers to `buffers` and returns the pieces' places. Throws Error (kResource) where memory is
// short.
std::vector<Place> allocate_together(Accelerator& accelerator, std::span<const uint64_t> bytes,
                                     std::vector<Buffer>* buffers);
// Copies all uploads, each to a multiple of 256 bytes, and returns the buffers with them. Throws
// Error (kResource) where memory is short.
std::vector<Buffer> upload_all(Accelerator& accelerator, std::span<const Upload> uploads);

}  // namespace hearth
