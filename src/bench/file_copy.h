// Measures the limit of loading: copies the bytes of a model's matrices from the mapped file into
// fresh memory. The threads that pack weights do it, in tasks of the same size, claimed in the same
// way. Every matrix is cut over the shards, in proportion to each shard's bytes of packed weights.
// The process unmaps the pages of a matrix as soon as it is copied, as loading does.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "formats/source_rows.h"
#include "memory/arena.h"
#include "models/model_spec.h"
#include "threads/team.h"
#include "topology/machine.h"

namespace hearth {

struct CopyShard {
  uint32_t node = 0;   // of the machine
  uint64_t share = 0;  // this shard's proportion of all bytes
};

class FileCopy {
 public:
  // A piece of a file that is copied to `to`.
  struct Piece {
    const SourceTensor* tensor;  // the tensor whose bytes they are
    FileRange from;
    std::byte* to;
  };

  // Maps the memory and touches none of it. At least one share must not be 0. `source` must outlive
  // this. Throws as Arena does.
  FileCopy(const ModelSource& source, const ModelSpec& spec, const Machine& machine,
           const std::vector<CopyShard>& shards, Binding binding);

  // Copies everything once and returns the seconds it took. Member 0 calls `report` now and then
  // with the bytes copied so far.
  using Report = std::function<void(uint64_t bytes)>;
  double run(Team& team, const std::vector<uint32_t>& member_shards, const Report& report);

  // Returns a shard's pieces: one of each matrix, or of each run of its rows.
  std::span<const Piece> pieces(size_t shard) const { return pieces_[shard]; }
  // Returns how many bytes of the copy lie in huge pages. The call is slow, since it asks the
  // kernel.
  uint64_t huge_bytes() const;

 private:
  const ModelSource& source_;
  std::vector<std::vector<Piece>> pieces_;
  std::vector<Arena> arenas_;
};

}  // namespace hearth
