#include "bench/peers.h"

#include <algorithm>
#include <filesystem>

#include "threads/pin.h"

namespace hearth {
namespace {

// Of this process.
std::vector<int> thread_ids() {
  std::vector<int> ids;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    ids.push_back(std::stoi(entry.path().filename()));
  }
  return ids;
}

}  // namespace

Peers::Peers(std::vector<std::string>* notes) : ours_(thread_ids()) {
  for (auto load : {load_openblas, load_onednn}) {
    std::string why;
    if (std::unique_ptr<Peer> peer = load(&why)) {
      all_.push_back(std::move(peer));
    } else {
      notes->push_back(why);
    }
  }
}

void Peers::sit(const Placement& placement) {
  pus_ = placement.pus();
  Turn turn(*this);
  for (const auto& peer : all_) peer->set_threads(static_cast<uint32_t>(pus_.size()));
  for (int id : thread_ids()) {
    if (std::find(ours_.begin(), ours_.end(), id) == ours_.end()) set_affinity(id, pus_);
  }
}

Peers::Turn::Turn(const Peers& peers) : before_(get_affinity(0)) { set_affinity(0, peers.pus_); }
Peers::Turn::~Turn() { set_affinity(0, before_); }

}  // namespace hearth
