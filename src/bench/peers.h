// The libraries to measure beside ours, and where their threads run: on the CPUs that our team's
// threads are pinned to, each on any of them, since libraries share out work as they like.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bench/peer.h"
#include "topology/placement.h"

namespace hearth {

class Peers {
 public:
  Peers() = default;  // none
  // All that can be loaded; `notes` gets a sentence for each that cannot.
  explicit Peers(std::vector<std::string>* notes);

  // From now on they have as many threads as `placement` has seats, on the CPUs of these. Called
  // before the team is made that sits there: threads that are younger than this object are taken
  // for the libraries'. Throws as Peer::set_threads does.
  void sit(const Placement& placement);

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
  std::vector<int> ours_;  // threads that lived before the libraries' did
  std::vector<std::unique_ptr<Peer>> all_;
  std::vector<uint32_t> pus_;  // of the seats; empty: any
};

}  // namespace hearth
