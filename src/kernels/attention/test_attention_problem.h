// Made-up attention problems for the tests and the benchmark: the KV pages of one head, filled by
// kv_store, and query rows over them.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/attention/attention.h"

namespace hearth {

struct alignas(64) CacheLine {
  std::byte bytes[64];
};

// The numbers of elements of a key and of a value.
struct HeadLengths {
  // NOLINTNEXTLINE(google-explicit-constructor): both are as long
  HeadLengths(uint32_t both) : key(both), value(both) {}
  HeadLengths(uint32_t key_, uint32_t value_) : key(key_), value(value_) {}
  uint32_t key, value;
};

// The cache of one head. Slots that were never stored hold bytes of 0xff: NaN as f32, f16 and bf16.
class KvHead {
 public:
  KvHead(KvType type, HeadLengths lengths, uint32_t positions);

  // Stores keys and values of all positions, normally distributed, by `store`.
  void fill(KvStoreFn store, uint32_t seed);
  void put(KvStoreFn store, uint32_t position, const std::vector<float>& k,
           const std::vector<float>& v);

  // Return an element of a key or a value exactly as the pages hold it.
  double key(uint32_t position, uint32_t d) const;
  double value(uint32_t position, uint32_t d) const;

  KvType type() const { return type_; }
  uint32_t key_length() const { return lengths_.key; }
  uint32_t value_length() const { return lengths_.value; }
  uint32_t positions() const { return positions_; }
  std::vector<KvPage>& pages() { return pages_; }
  const std::vector<KvPage>& pages() const { return pages_; }
  size_t bytes() const { return memory_.size() * sizeof(CacheLine); }

 private:
  KvType type_;
  HeadLengths lengths_;
  uint32_t positions_;
  std::vector<CacheLine> memory_;
  std::vector<KvPage> pages_;
};

// Query rows, kGap floats apart. Their output has the same gaps, and is filled with kPoison first.
struct Queries {
  static constexpr uint32_t kGap = 3;
  static constexpr float kPoison = -12345.0f;

  Queries(uint32_t rows, HeadLengths lengths, uint32_t seed);

  uint32_t rows;
  HeadLengths lengths;
  std::vector<float> q;
  std::vector<size_t> offset, out_offset;
  std::vector<uint32_t> last;  // 0: for the caller to set
  uint32_t window = 0;
  float scale;
  // The slope and the position of each row for ALiBi; empty: none.
  std::vector<float> slope;
  std::vector<uint32_t> position;
  std::vector<float> sink;  // the sink of each row; empty: none
  KvPage after = {};
  bool four_places = false;

  // Runs `attend` on the chosen rows, in that order, and returns the whole output buffer. Outside
  // of these rows it must still hold the poison.
  std::vector<float> run(AttendFn attend, const std::vector<KvPage>& pages,
                         const std::vector<uint32_t>& chosen) const;
  std::vector<float> run(AttendFn attend, const std::vector<KvPage>& pages) const;
  // Runs the problem by several calls, which visit spans [0, cuts[0]), [cuts[0], cuts[1]), ... Each
  // call's spans are merged after it.
  std::vector<float> run_spans(AttendFn attend, MergeFn merge, const std::vector<KvPage>& pages,
                               const std::vector<uint32_t>& cuts,
                               size_t scratch_bytes = kAttendScratchBytes) const;

 private:
  std::vector<float> poison() const;
  // Returns the arguments for a call of all rows, without the memory to write to.
  AttendArgs args(const std::vector<KvPage>& pages) const;
};

}  // namespace hearth
