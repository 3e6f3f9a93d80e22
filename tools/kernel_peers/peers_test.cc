#include "peers.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <future>
#include <random>
#include <thread>

#include "base/fp_types.h"
#include "bench/kernel_bench.h"
#include "kernels/kernels.h"
#include "loaded_library.h"
#include "threads/pin.h"

namespace hearth {
namespace {

float rounded(float value, PackKind kind) {
  return kind == PackKind::kBF16 ? bf16_to_f32(f32_to_bf16(value)) : value;
}

// Checks that the library computes the same product as ours.
void expect_product(Peer& peer, PackKind kind, uint32_t m) {
  constexpr uint32_t kRows = 48, kK = 96, kCopies = 3;
  std::mt19937 random(m);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> weights(kRows * kK), x(m * kK);
  for (float& w : weights) w = uniform(random);
  for (float& v : x) v = uniform(random);
  peer.set_threads(2);
  Machine machine = Machine::invented(1, 2);
  auto product = peer.product({kRows, kK, m, kCopies, kind, weights, x, machine, 0});
  if (product == nullptr) return;
  for (uint32_t copy = 0; copy < kCopies; ++copy) {
    product->run(copy);
    for (uint32_t i = 0; i < m * kRows; ++i) {
      double sum = 0, magnitude = 0;
      for (uint32_t k = 0; k < kK; ++k) {
        double term = double{rounded(x[i / kRows * kK + k], kind)} *
                      rounded(weights[i % kRows * kK + k], kind);
        sum += term;
        magnitude += std::abs(term);
      }
      // The bound is one rounding to f32 for each product and each sum.
      ASSERT_NEAR(product->out()[i], sum, magnitude * (kK + 1) * 0x1p-24)
          << peer.name() << " " << pack_kind_name(kind) << " m " << m << " copy " << copy;
    }
  }
}

void ignore(const std::string&) {}

TEST(Peers, ComputeTheSameProduct) {
  Peers peers(ignore);
  if (peers.all().empty()) GTEST_SKIP() << "neither library is installed";
  for (const auto& peer : peers.all()) {
    for (PackKind kind : {PackKind::kF32, PackKind::kBF16}) {
      for (uint32_t m : {1u, 2u, 33u}) {
        if (peer->takes(kind)) expect_product(*peer, kind, m);
      }
    }
    EXPECT_FALSE(peer->takes(PackKind::kQ8_0));
  }
}

// A thread of the test plays the part of a thread that a library starts.
TEST(Peers, TheirThreadsSitWhereTheTeamDoes) {
  std::vector<uint32_t> before = get_affinity(0);
  Peers peers(ignore);
  std::promise<int> id;
  std::promise<void> end;
  std::thread other([&, ended = end.get_future()] {
    id.set_value(static_cast<int>(gettid()));
    ended.wait();
  });
  int other_id = id.get_future().get();
  Placement placement = place_threads(Machine::live(), {.threads = 1});
  peers.sit(placement);
  EXPECT_EQ(get_affinity(other_id), placement.pus());
  EXPECT_EQ(get_affinity(0), before);
  {
    Peers::Turn turn(peers);
    EXPECT_EQ(get_affinity(0), placement.pus());
  }
  EXPECT_EQ(get_affinity(0), before);
  end.set_value();
  other.join();
}

TEST(Peers, TakeTurnsWithOurs) {
  Machine machine = Machine::invented(1, 2);
  for (LlcGroup& llc : machine.llcs) llc.bytes = 1 << 18;
  machine.memory_available = 0;
  Placement placement = place_threads(machine, {.threads = 2});
  std::vector<std::string> notes;
  Peers peers([&](const std::string& note) { notes.push_back(note); });
  EXPECT_EQ(peers.all().size() + notes.size(), peers.names().size());
  for (const std::string& note : notes) EXPECT_NE(note.find("--peers"), std::string::npos) << note;
  peers.sit(placement);
  Team team(2);
  TeamLimits limits(team, machine, placement, {available_isas(detect_cpu_features())[0]});
  KernelBench bench(team, machine, 0, limits, peers, {});
  for (DType type : {DType::kF32, DType::kQ8_0}) {
    for (const KernelResult& result :
         bench.run({32, 64, weight_type(type), "q"}, std::vector<uint32_t>{1, 20}, 2)) {
      EXPECT_EQ(result.others.size(), type == DType::kF32 ? peers.all().size() : 0);
      for (const ContenderResult& other : result.others) {
        EXPECT_EQ(other.seconds.size(), 2u);
        EXPECT_NE(other.implementation, "");
      }
    }
  }
}

TEST(LoadedLibrary, NamesTheMissingLibraryOrFunction) {
  int (*function)() = nullptr;
  LoadedLibrary none("libhearth-has-no-such.so.9");
  none.find("zero", &function);
  EXPECT_EQ(function, nullptr);
  EXPECT_NE(none.error().find("libhearth-has-no-such.so.9"), std::string::npos) << none.error();
  LoadedLibrary libc("libc.so.6");
  libc.find("rand", &function);
  EXPECT_NE(function, nullptr);
  EXPECT_EQ(libc.error(), "");
  libc.find("hearth_has_no_such", &function);
  EXPECT_EQ(function, nullptr);
  EXPECT_NE(libc.error().find("hearth_has_no_such"), std::string::npos) << libc.error();
}

}  // namespace
}  // namespace hearth
