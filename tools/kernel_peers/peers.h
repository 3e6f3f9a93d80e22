// The libraries to measure beside ours, and the CPUs of their threads. Their threads run on the
// CPUs that our team's threads are pinned to. Each may use any of these, since the libraries divide
// work in their own way. The conditions equal ours: copies of the weights in an arena on the same
// node, activations in the type that they multiply, as many threads.
//
// Library threads spin for a while after a product, so before every turn the process waits until it
// uses no CPU.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/contenders.h"
#include "peer.h"

namespace hearth {

class Peers : public Contenders {
 public:
  // Loads all libraries that are installed. `note` gets a sentence for each that cannot be loaded,
  // and later for each reason to doubt figures.
  explicit Peers(std::function<void(const std::string& text)> note);

  std::vector<std::string> names() const override { return {"OpenBLAS", "oneDNN"}; }
  // Gives the libraries as many threads as `placement` has seats, on the CPUs of these seats.
  // Threads that started after this object was made count as the libraries'. Throws as
  // Peer::set_threads does.
  void sit(const Placement& placement) override;
  // Throws as Peer::product does, and kResource where the copies do not fit into memory.
  std::vector<Contender> ready(const ContenderTask& task) override;
  void before_turn() override;

  const std::vector<std::unique_ptr<Peer>>& all() const { return all_; }

  // Lets the calling thread run on all CPUs of the seats while it makes or runs a library's
  // product, and restores its affinity afterwards. Threads that the library starts inherit these
  // CPUs.
  class Turn {
   public:
    explicit Turn(const Peers& peers);
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    std::vector<uint32_t> before_;
  };

 private:
  std::function<void(const std::string& text)> note_;
  std::vector<int> ours_;  // threads that existed before the libraries were loaded
  std::vector<std::unique_ptr<Peer>> all_;
  std::vector<uint32_t> pus_;  // CPUs of the seats; empty: any
};

}  // namespace hearth
