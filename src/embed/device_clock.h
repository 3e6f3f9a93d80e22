// The clock of devices and queues, an interface so that tests can have virtual time.
#pragma once

namespace hearth {

class DeviceClock {
 public:
  virtual ~DeviceClock() = default;
  // Returns the seconds since some fixed moment; they never go back. Any thread may call it.
  virtual double now() const = 0;
  // Blocks the calling thread until now() reaches `moment`.
  virtual void sleep_until(double moment) = 0;
};

// The machine's own clock, steady_seconds().
class SteadyClock : public DeviceClock {
 public:
  double now() const override;
  void sleep_until(double moment) override;
};

}  // namespace hearth
