// An Accelerator is a processor with memory of its own, which users call `gpu`. Back ends implement
// this interface, and code that uses it does not know which one. `vulkan/` drives real
// accelerators; the accelerators of `virtual/` are for tests and for predicting time.
//
//   std::unique_ptr<Accelerator> gpu = ...;
//   Buffer x = gpu->allocate(bytes);
//   gpu->write({x.id()}, values);
//   gpu->submit(list);              // returns at once
//   gpu->wait({timeline, 1}, 20);   // the moment that the last command signals
//   gpu->read({x.id()}, results);
//
// An accelerator is used by one thread at a time. Errors: kResource where memory is short (the
// message has the needed and the free bytes) or where the accelerator is lost, after which every
// call throws it; kRequest where a list names something that does not exist.
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

// A feature that an accelerator lacks although it would be used, and what the lack costs.
struct Lack {
  std::string what, cost;
};

struct QueueFacts {
  bool computes = true;  // false: it only copies
};

struct AcceleratorFacts {
  std::string name;    // "NVIDIA H100 PCIe", "llvmpipe (LLVM 15.0.6, 256 bits)"
  std::string driver;  // with its version
  std::string api;     // "Vulkan 1.3.230"
  AcceleratorKind kind = AcceleratorKind::kOther;
  uint64_t memory_bytes = 0;       // of the accelerator's own memory
  uint64_t free_bytes = 0;         // the free part of memory_bytes; 0: not told by the driver
  uint64_t allocation_bytes = 0;   // the longest buffer
  uint64_t import_alignment = 0;   // what import() needs; 0: no import()
  std::vector<QueueFacts> queues;  // at least one; the first one computes
  std::string arithmetic;          // how floats are computed: "fused fma", "f64 to odd"
  std::vector<Lack> lacks;
};

class Accelerator;

// Owns memory of an accelerator. The accelerator outlives the buffer.
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

  // Allocates at least one byte, 256-byte aligned, with unknown content.
  virtual Buffer allocate(uint64_t bytes) = 0;
  // Makes a buffer of the process's memory, which is copied from and to directly. The memory
  // outlives the buffer, and begins and ends at multiples of facts().import_alignment. Throws
  // kUnsupported where memory cannot be imported.
  virtual Buffer import(std::span<std::byte> memory) = 0;

  // Both return when all bytes are copied. Unfinished commands must not use these bytes.
  virtual void write(Place to, std::span<const std::byte> bytes) = 0;
  virtual void read(Place from, std::span<std::byte> bytes) = 0;

  // Makes a counter that begins at 0.
  virtual TimelineId make_timeline() = 0;
  virtual uint64_t reached(TimelineId timeline) = 0;
  // Called by the host: sets the moment's timeline to the moment's value, which must be greater
  // than the timeline's value so far.
  virtual void signal(Moment moment) = 0;
  // Waits for the moment. Throws kResource where it has not come after `seconds`; the accelerator
  // then counts as lost.
  virtual void wait(Moment moment, double seconds) = 0;

  // Says why the accelerator cannot do the call; empty: it can.
  virtual std::string why_not(const KernelCall& call) = 0;
  // Begins the list and returns at once. The buffers and memory that it names must live until it
  // ends.
  virtual void submit(const CommandList& list) = 0;

  // Whether the accelerator is lost and no submitted command still runs: the driver itself calls it
  // lost. Where the accelerator is lost because wait() ran out of time, its commands may still
  // write.
  virtual bool stopped() const { return false; }

 protected:
  friend class Buffer;
  // Frees the buffer once all submitted commands have ended.
  virtual void free(BufferId id) noexcept = 0;
};

inline Buffer::~Buffer() {
  if (of_ != nullptr) of_->free(id_);
}

}  // namespace hearth
