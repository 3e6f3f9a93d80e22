// The libraries to measure beside ours, and where their threads run: on the CPUs that our team's
// threads are pinned to, each on any of them, since libraries share out work as they like. They
// have what ours have: copies of the weights in an arena on the same node, activations in the type
// that they multiply, as many threads.
//
// Their threads spin for a while after a product, so before every turn the process is left alone
// until it uses no CPU.
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
  // All that can be loaded. `note` gets a sentence for each that cannot, and later what makes
  // figures doubtful.
  explicit Peers(std::function<void(const std::string& text)> note);

  std::vector<std::string> names() const override { return {"OpenBLAS", "oneDNN"}; }
  // Gives the libraries as many threads from now on as `placement` has seats, on the CPUs of these.
  // Threads that are younger than this object are taken for the libraries'. Throws as
  // Peer::set_threads does.
  void sit(const Placement& placement) override;
  // Throws as Peer::product does, and kResource where memory does not hold all copies.
  std::vector<Contender> ready(const ContenderTask& task) override;
  void before_turn() override;

  const std::vector<std::unique_ptr<Peer>>& all() const { return all_; }

  // The calling thread's place while it makes or runs a product of theirs: threads that a library
  // starts meanwhile get it too.
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
  std::vector<int> ours_;  // threads that lived before the libraries' did
  std::vector<std::unique_ptr<Peer>> all_;
  std::vector<uint32_t> pus_;  // of the seats; empty: any
};

}  // namespace hearth
