// The virtual accelerator, failing where it is told to.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>

#include "accelerator/virtual/virtual_accelerator.h"
#include "base/error.h"

namespace hearth {

enum class FaultKind : uint8_t {
  kSubmit,    // lists are refused from then on; what was submitted ends
  kTransfer,  // so are writes and reads by the host, and they alone
  // The other kinds end with every call failing.
  kStopped,  // at a list; nothing that was submitted goes on
  kLost,     // at a list; what was submitted may go on
  kTimeout,  // at a wait; the same
  kHung,     // once a wait for it took all its time: no list begins from that one on
};

struct Fault {
  FaultKind kind = FaultKind::kSubmit;
  uint32_t at = 0;  // the first call that fails, of those that the kind names; 0: none does

  // Pages of texts under way may be written for good.
  bool loses() const { return kind >= FaultKind::kLost; }
};

class FailingAccelerator : public VirtualAccelerator {
 public:
  using VirtualAccelerator::VirtualAccelerator;

  // Calls before this one do not count.
  void arm(const Fault& fault) { fault_ = fault; }
  bool failed() const { return failed_; }
  // Seconds that somebody waited for what did not come.
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
  // Counts a call at which faults of these kinds strike.
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
