#include "peers.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <filesystem>
#include <random>

#include "base/clock.h"
#include "memory/arena.h"
#include "threads/pin.h"

namespace hearth {
namespace {

// Returns the ids of this process's threads.
std::vector<int> thread_ids() {
  std::vector<int> ids;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    ids.push_back(std::stoi(entry.path().filename()));
  }
  return ids;
}

double process_seconds() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// Returns random numbers around zero that repeat with an odd period, so that the rows of a matrix
// begin differently.
std::vector<float> random_floats(size_t count) {
  constexpr size_t kPeriod = (size_t{1} << 14) + 3;
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0, 0.1f);
  std::vector<float> values(count);
  for (size_t i = 0; i < std::min(count, kPeriod); ++i) values[i] = normal(random);
  for (size_t i = kPeriod; i < count; ++i) values[i] = values[i - kPeriod];
  return values;
}

// Throws if the copies do not fit into memory, since the process touches all of it, and the system
// would end it. The libraries' weights have as many bytes as ours.
void check_room(const ContenderTask& task, uint64_t libraries, const Machine& machine) {
  uint64_t ends = sizeof(float) * task.m * (uint64_t{task.rows} + task.k);
  uint64_t given = sizeof(float) * (uint64_t{task.rows} + task.m) * task.k;
  uint64_t needed = libraries * (task.copies * task.bytes + ends) + given;
  std::string what = fmt::format("measuring libraries' products of {} x {} with {} rows", task.rows,
                                 task.k, task.m);
  check_memory(needed, what, machine);
  check_node_memory(needed, what, machine, task.node);
}

}  // namespace

Peers::Peers(std::function<void(const std::string& text)> note)
    : note_(std::move(note)), ours_(thread_ids()) {
  for (auto load : {load_openblas, load_onednn}) {
    std::string why;
    if (std::unique_ptr<Peer> peer = load(&why)) {
      all_.push_back(std::move(peer));
    } else {
      note_(why);
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

std::vector<Contender> Peers::ready(const ContenderTask& task) {
  std::vector<Peer*> takers;
  for (const auto& peer : all_) {
    if (peer->takes(task.kind)) takers.push_back(peer.get());
  }
  if (takers.empty()) return {};
  Machine machine = Machine::live();
  check_room(task, takers.size(), machine);
  std::vector<float> weights = random_floats(size_t{task.rows} * task.k);
  std::vector<float> x = random_floats(size_t{task.m} * task.k);
  std::vector<Contender> contenders;
  Turn turn(*this);
  for (Peer* peer : takers) {
    std::shared_ptr<PeerProduct> product = peer->product(
        {task.rows, task.k, task.m, task.copies, task.kind, weights, x, machine, task.node});
    if (product == nullptr) continue;
    auto run = [this, product, copies = task.copies, next = 0u](uint32_t count) mutable {
      Turn running(*this);
      double start = steady_seconds();
      for (uint32_t i = 0; i < count; ++i) product->run(next++ % copies);
      return steady_seconds() - start;
    };
    contenders.push_back({peer->name(), product->implementation(), std::move(run)});
  }
  return contenders;
}

// Waits until no thread of this process spins any more, or for half a second.
void Peers::before_turn() {
  constexpr timespec kNap = {0, 5'000'000};
  for (int i = 0; i < 100; ++i) {
    double before = process_seconds();
    nanosleep(&kNap, nullptr);
    if (process_seconds() - before < 0.5e-3) return;
  }
  note_(
      "a library's threads keep spinning between its products and take CPU time from what is "
      "measured: unset OMP_WAIT_POLICY and GOMP_SPINCOUNT");
}

Peers::Turn::Turn(const Peers& peers) : before_(get_affinity(0)) { set_affinity(0, peers.pus_); }
Peers::Turn::~Turn() { set_affinity(0, before_); }

}  // namespace hearth
