// An Accelerator is a processor with memory of its own, which users call `gpu`: a back end
// implements it, and nothing above knows which. `vulkan/` drives real ones, `virtual/` is one made
// of the reference kernels.
//
//   std::unique_ptr<Accelerator> gpu = ...;
//   Buffer x = gpu->allocate(bytes);
//   gpu->write({x.id()}, values);
//   gpu->submit(list);              // returns at once
//   gpu->wait({timeline, 1}, 20);   // what the last command signals
//   gpu->read({x.id()}, results);
//
// One thread at a time. Errors: kResource where memory is short (both figures are told) or where
// the accelerator is lost, after which every call throws that; kRequest where a list asks for what
// there is not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "accelerator/command_list.h"

namespace hearth {

enum class AcceleratorKind : uint8_t { kDiscrete, kIntegrated, kSoftware, kOther };

// A feature that an accelerator lacks though it would be used, and the cost of that.
struct Lack {
  std::string what, cost;
};

struct QueueFacts {
  bool computes = true;  // else it copies alone
};

struct AcceleratorFacts {
  std::string name;    // "NVIDIA H100 PCIe", "llvmpipe (LLVM 15.0.6, 256 bits)"
  std::string driver;  // with its version
  std::string api;     // "Vulkan 1.3.230"
  AcceleratorKind kind = AcceleratorKind::kOther;
  uint64_t memory_bytes = 0;       // of its own
  uint64_t free_bytes = 0;         // of these, now; 0: it does not tell
  uint64_t allocation_bytes = 0;   // the most of one buffer
  uint64_t import_alignment = 0;   // of memory of the process that is shown to it; 0: none can be
  std::vector<QueueFacts> queues;  // at least one, the first of which computes
  std::string arithmetic;          // how it gives the contracts' bits: "fused fma", "f64 to odd"
  std::vector<Lack> lacks;
};

class Accelerator;

// Owns memory of an accelerator, which outlives it.
class Buffer {
 public:
  Buffer() = default;
  Buffer(Accelerator& of, BufferId id, uint64_t bytes) : of_(&of), id_(id), bytes_(bytes) {}
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    Buffer(std::move(other)).swap(*this);
    return *this;
  }
  ~Buffer();

  BufferId id() const { return id_; }
  uint64_t bytes() const { return bytes_; }
  Place at(uint64_t offset = 0) const { return {id_, offset}; }

 private:
  void swap(Buffer& other) noexcept {
    std::swap(of_, other.of_);
    std::swap(id_, other.id_);
    std::swap(bytes_, other.bytes_);
  }

  Accelerator* of_ = nullptr;
  BufferId id_ = kNoBuffer;
  uint64_t bytes_ = 0;
};

class Accelerator {
 public:
  virtual ~Accelerator() = default;

  virtual const AcceleratorFacts& facts() const = 0;

  // 256-byte aligned; what is in it is not known. At least one byte.
  virtual Buffer allocate(uint64_t bytes) = 0;
  // Memory of the process, copied from and to where it lies; it outlives the buffer, begins at a
  // multiple of facts().import_alignment and is as long as one. kUnsupported where none can be.
  virtual Buffer import(std::span<std::byte> memory) = 0;

  // Both return when all bytes are copied. Commands that were submitted and have not ended must not
  // use these bytes.
  virtual void write(Place to, std::span<const std::byte> bytes) = 0;
  virtual void read(Place from, std::span<std::byte> bytes) = 0;

  // A counter that begins at 0.
  virtual TimelineId make_timeline() = 0;
  virtual uint64_t reached(TimelineId timeline) = 0;
  // The host signals. Values only grow.
  virtual void signal(Moment moment) = 0;
  // Throws kResource where it has not come after `seconds`, when it counts as lost.
  virtual void wait(Moment moment, double seconds) = 0;

  // Says why it cannot do the call; empty: it can.
  virtual std::string why_not(const KernelCall& call) = 0;
  // Begins the list and returns. Buffers and memory that it names live until it has ended.
  virtual void submit(const CommandList& list) = 0;

  // Whether it is lost and nothing that was submitted goes on, as where the driver itself calls it
  // lost. One that is lost because a moment did not come may still write.
  virtual bool stopped() const { return false; }

 protected:
  friend class Buffer;
  // Lets go of it, once all that was submitted has ended.
  virtual void free(BufferId id) noexcept = 0;
};

inline Buffer::~Buffer() {
  if (of_ != nullptr) of_->free(id_);
}

}  // namespace hearth
