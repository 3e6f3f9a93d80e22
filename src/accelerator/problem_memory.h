// Makes the memory of made-up calls (accelerator/call_problems.h): one buffer with values of
// several kinds.
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

// Lays the data of a problem into one buffer.
class ProblemMemory {
 public:
  ProblemMemory(BufferId buffer, std::mt19937& random, ProblemValues values)
      : buffer_(buffer), random_(random), values_(values) {}

  Place add(uint64_t bytes);  // filled with a fixed pattern
  Place add(std::span<const std::byte> bytes);
  std::vector<float> draw(uint64_t count);
  Place values(uint64_t count) { return add(std::as_bytes(std::span<const float>(draw(count)))); }
  // Adds means and sums of squares; the sums are not negative.
  FloatRows moments(uint32_t count, uint32_t heads);
  FloatRows rows(uint32_t count, uint64_t stride) { return {values(count * stride), stride}; }
  FloatRows results(uint32_t count, uint64_t stride, uint32_t n);
  // Adds the slots of `rows` rows and returns their place. Each row gets a different slot of
  // `pages` pages.
  Place slots(uint32_t rows, uint32_t pages);
  void note_floats(const FloatRows& out, uint32_t count, uint32_t n);
  // Tells where the scales of blocks lie in pages, as binary16 numbers. In each page the scales
  // follow the codes of keys or values of `length` elements.
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

// The kinds of values for calls that work on pages.
inline constexpr ProblemValues kPagesValues[] = {ProblemValues::kPlain, ProblemValues::kSmall,
                                                 ProblemValues::kHostile};

// Returns a contract with a problem for each kind of values and each size. `make` makes the problem
// from a memory and a size.
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

// Appends the contracts of attention and of storing its keys and values.
void add_attention_contracts(bool brief, std::vector<Contract>* all);

// Appends the contracts of latents: storing them, attending to them, and expanding them into keys
// and values.
void add_latent_contracts(bool brief, std::vector<Contract>* all);

// Appends the contracts of routing rows to experts.
void add_routing_contracts(bool brief, std::vector<Contract>* all);

}  // namespace hearth
