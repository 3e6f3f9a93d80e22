// The virtual accelerator, which fails at a chosen call.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>

#include "accelerator/virtual/virtual_accelerator.h"
#include "base/error.h"

namespace hearth {

enum class FaultKind : uint8_t {
  kSubmit,    // lists are refused from then on; submitted lists end
  kTransfer,  // only writes and reads by the host fail from then on
  // Every call fails once one of the following kinds has struck.
  kStopped,  // strikes at a list; submitted lists stop
  kLost,     // strikes at a list; submitted lists may go on
  kTimeout,  // strikes at a wait; submitted lists may go on
  kHung,     // strikes when a wait has used all its time; no list begins from then on
};

struct Fault {
  FaultKind kind = FaultKind::kSubmit;
  uint32_t at = 0;  // number of the first failing call among those of the kind; 0: none fails

  // Returns whether, after the fault, submitted lists may still write the pages of texts under way.
  bool loses() const { return kind >= FaultKind::kLost; }
};

class FailingAccelerator : public VirtualAccelerator {
 public:
  using VirtualAccelerator::VirtualAccelerator;

  // Sets the fault. Only calls from now on count.
  void arm(const Fault& fault) { fault_ = fault; }
  bool failed() const { return failed_; }
  // Returns the seconds of all waits that ended in a failure.
  double waited_seconds() const { return waited_seconds_; }

  Buffer allocate(uint64_t bytes) override {
    call({});
    return VirtualAccelerator::allocate(bytes);
  }
  void write(Place to, std::span<const std::byte> bytes) override {
    call({FaultKind::kTransfer});
    VirtualAccelerator::write(to, bytes);
  }
  void read(Place from, std::span<std::byte> bytes) override {
    call({FaultKind::kTransfer});
    VirtualAccelerator::read(from, bytes);
  }
  void wait(Moment moment, double seconds) override {
    call({FaultKind::kTimeout});
    try {
      VirtualAccelerator::wait(moment, seconds);
    } catch (const Error&) {
      failed_ = failed_ || hung_;
      waited_seconds_ += seconds;
      throw;
    }
  }
  void submit(const CommandList& list) override {
    call({FaultKind::kSubmit, FaultKind::kStopped, FaultKind::kLost});
    if (fault_.kind == FaultKind::kHung && fault_.at > 0) hung_ = hung_ || ++calls_ == fault_.at;
    if (!hung_) VirtualAccelerator::submit(list);
  }
  bool stopped() const override { return failed_ && fault_.kind == FaultKind::kStopped; }

 private:
  // Counts a call if the armed fault is one of these kinds; fails when its turn has come.
  void call(std::initializer_list<FaultKind> kinds) {
    const bool struck = std::ranges::count(kinds, fault_.kind) > 0;
    if (struck && fault_.at > 0 && ++calls_ == fault_.at) failed_ = true;
    if (failed_ && (struck || fault_.kind >= FaultKind::kStopped)) {
      fail(ErrorCode::kResource, "the device is lost");
    }
  }

  Fault fault_;
  uint32_t calls_ = 0;
  bool failed_ = false, hung_ = false;
  double waited_seconds_ = 0;
};

}  // namespace hearth
