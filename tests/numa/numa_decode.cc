// The programs whose remote bytes tools/numa/count_remote.py counts, in a machine of vm.py under
// the plugin count_bytes.c:
//
//
//   numa_decode MODEL placed
// spread
// interleaved DEPTH STEPS
//                                                     decodes STEPS tokens after DEPTH others, the
//                                                     last of which has a decode step too; spread:
//                                                     with whole experts on nodes
//   numa_decode --read CPU NODE                       CPU reads kReadBytes of the memory of NODE
//
// The model is cut over all nodes, with a group on each and a thread on every core. A load at a
// physical address without memory, before and after the counted work, tells the plugin.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <future>
#include <string>
#include <vector>

#include "base/error.h"
#include "engine/engine.h"
#include "models/registry.h"
#include "threads/pin.h"

namespace hearth {
namespace {

constexpr size_t kReadBytes = size_t{8} << 20;
constexpr off_t kMarkAddress = 0xe0000000;

class Marker {
 public:
  Marker() {
    int file = open("/dev/mem", O_RDONLY);
    void* page = mmap(nullptr, getpagesize(), PROT_READ, MAP_SHARED, file, kMarkAddress);
    close(file);
    if (page == MAP_FAILED) fail(ErrorCode::kResource, "/dev/mem cannot be mapped: run it as root");
    page_ = static_cast<const volatile uint8_t*>(page);
  }
  void mark() const { static_cast<void>(*page_); }

 private:
  const volatile uint8_t* page_;
};

void read_node(uint32_t cpu, uint32_t node) {
  Machine machine = Machine::live();
  Arena arena(machine, node, kReadBytes, "buffer");
  std::memset(arena.data(), 1, kReadBytes);
  if (set_affinity(0, {cpu}) != 0) fail(ErrorCode::kUsage, "there is no CPU {}", cpu);
  const volatile uint64_t* words = reinterpret_cast<const volatile uint64_t*>(arena.data());
  Marker marker;
  marker.mark();
  for (size_t i = 0; i < kReadBytes / sizeof(uint64_t); ++i) static_cast<void>(words[i]);
  marker.mark();
}

void decode(const std::string& path, const std::string& placing, uint32_t depth, uint32_t steps) {
  Machine machine = Machine::live();
  // This thread becomes the first one of the plan. So it must run on its node before it touches
  // memory.
  set_affinity(0, {machine.allowed_pus.at(0)});
  ModelSource file = open_model_source(path);
  EngineOptions options;
  options.threads = machine.allowed_core_count();
  options.interleave = placing == "interleaved";
  options.experts = placing == "spread" ? ExpertCut::kSpread : ExpertCut::kCut;
  options.context = 256;
  options.prefill_rows = 64;
  Isa isa = available_isas(detect_cpu_features()).back();
  Engine engine(file, make_spec(file), machine, isa, options);
  auto sequence = engine.new_sequence();
  std::vector<int32_t> tokens(depth + steps);
  for (size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<int32_t>(3 + i % 256);
  auto step = [&](uint32_t position) {
    StepRequest request{sequence.get(), std::span(tokens).subspan(position, 1), Want::kLast};
    engine.step({&request, 1});
  };
  engine.prefill(*sequence, std::span(tokens).first(depth - 1));
  step(depth - 1);
  Marker marker;
  marker.mark();
  for (uint32_t i = 0; i < steps; ++i) step(depth + i);
  marker.mark();
}

}  // namespace
}  // namespace hearth

int main(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  auto number = [&](size_t i) { return static_cast<uint32_t>(std::stoul(words.at(i))); };
  try {
    if (words.at(0) == "--read") {
      hearth::read_node(number(1), number(2));
    } else {
      // A new thread has an untouched stack, so that its pages lie on the node where the thread
      // then runs.
      std::async(std::launch::async, [&] {
        hearth::decode(words[0], words.at(1), number(2), number(3));
      }).get();
    }
  } catch (const std::exception& error) {
    fmt::print(stderr, "numa_decode: {}\n", error.what());
    return 1;
  }
  return 0;
}
