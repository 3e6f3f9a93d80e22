// Starts a thread that first makes an object, for which the caller waits, and then works on it.
#pragma once

#include <exception>
#include <future>
#include <thread>
#include <utility>

namespace hearth {

// Starts a thread that calls `make` and then `work`. Returns once `make` has ended. If `make`
// throws, waits for the thread's end and throws the same. `work` must not throw.
template <typename Make, typename Work>
std::thread start_thread(const Make& make, Work work) {
  std::promise<void> made;
  std::future<void> ready = made.get_future();
  std::thread thread([&make, made = std::move(made), work = std::move(work)]() mutable {
    try {
      make();
    } catch (...) {
      made.set_exception(std::current_exception());
      return;
    }
    made.set_value();
    work();
  });
  try {
    ready.get();
  } catch (...) {
    thread.join();
    throw;
  }
  return thread;
}

}  // namespace hearth
