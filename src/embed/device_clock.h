// The time that devices and queues go by, so that tests bring their own.
#pragma once

namespace hearth {

class DeviceClock {
 public:
  virtual ~DeviceClock() = default;
  // Seconds that go forward, from some fixed moment on. Any thread may ask.
  virtual double now() const = 0;
  // Blocks the calling thread until then.
  virtual void sleep_until(double moment) = 0;
};

// The machine's own, as steady_seconds() has it.
class SteadyClock : public DeviceClock {
 public:
  double now() const override;
  void sleep_until(double moment) override;
};

}  // namespace hearth
