// Makes the values of made-up calls (accelerator/call_problems.h): of several kinds, in one buffer.
#pragma once

#include <cstddef>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "accelerator/call_problems.h"

namespace hearth {

enum class ProblemValues { kPlain, kWide, kHostile, kSmall };
const char* name_of(ProblemValues values);
float problem_value(ProblemValues values, std::mt19937& random);

// Lays what a problem needs into one buffer.
class ProblemMemory {
 public:
  ProblemMemory(BufferId buffer, std::mt19937& random, ProblemValues values)
      : buffer_(buffer), random_(random), values_(values) {}

  Place add(uint64_t bytes);  // filled with a pattern
  Place add(std::span<const std::byte> bytes);
  std::vector<float> draw(uint64_t count);
  Place values(uint64_t count) { return add(std::as_bytes(std::span<const float>(draw(count)))); }
  // Means, and sums of squares, which have no sign.
  FloatRows moments(uint32_t count, uint32_t heads);
  FloatRows rows(uint32_t count, uint64_t stride) { return {values(count * stride), stride}; }
  FloatRows results(uint32_t count, uint64_t stride, uint32_t n);
  // Returns the slots of so many rows, each another position of `pages` pages.
  Place slots(uint32_t rows, uint32_t pages);
  void note_floats(const FloatRows& out, uint32_t count, uint32_t n);
  // Scales of blocks, behind the codes of numbers of one length in each page.
  void note_scales(const Place& codes, uint32_t length, uint64_t stride, uint32_t pages);
  CallProblem finish(KernelCall call, std::string sizes);

  std::mt19937& random() { return random_; }

 private:
  static constexpr uint64_t kAlign = 256;
  static constexpr std::byte kPattern{0xa5};

  BufferId buffer_;
  std::mt19937& random_;
  ProblemValues values_;
  std::vector<std::byte> memory_;
  std::vector<Access> floats_, halves_;
};

// The values of calls that touch pages of a cache.
inline constexpr ProblemValues kPagesValues[] = {ProblemValues::kPlain, ProblemValues::kSmall,
                                                 ProblemValues::kHostile};

// A problem for each of the values with each of the sizes, as `make` (CallProblem of a memory and a
// size) finishes it.
template <typename Size, typename Make>
Contract contract_over(std::string name, const auto& values, const std::vector<Size>& sizes,
                       const Make& make) {
  Contract contract{std::move(name), {}};
  for (ProblemValues value : values) {
    for (const Size& size : sizes) {
      contract.problems.push_back([=](BufferId buffer, std::mt19937& random) {
        ProblemMemory memory(buffer, random, value);
        return make(memory, size);
      });
    }
  }
  return contract;
}

// Appends those of attention, and of what stores its keys and values.
void add_attention_contracts(bool brief, std::vector<Contract>* all);

// Appends those of latents: what stores them, what attends to them, and what makes keys and values
// of them.
void add_latent_contracts(bool brief, std::vector<Contract>* all);

// Appends those of routing rows to experts.
void add_routing_contracts(bool brief, std::vector<Contract>* all);

}  // namespace hearth
