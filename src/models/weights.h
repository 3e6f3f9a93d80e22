// WeightStore: the weights of one model, declared while its graph is built, then packed shard by
// shard from the file. A weight is declared by name with the shape the model expects; the same name
// declared again (by the other phase's graph) is the same weight. Small vectors (norms, biases) are
// f32, and every shard's node gets a copy.
//
// Errors: a tensor that is missing or has another shape than the metadata says (kFile, naming it).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "formats/gguf.h"
#include "memory/arena.h"
#include "tensor/axis_cuts.h"
#include "tensor/weight.h"
#include "threads/team.h"

namespace hearth {

class WeightStore {
 public:
  // `file` must outlive load().
  explicit WeightStore(const GgufFile& file) : file_(file) {}

  bool has(const std::string& name) const { return file_.find_tensor(name) != nullptr; }

  // W[rows, k], cut by rows or columns along `cuts`; `unit` rows or columns per unit of the axis.
  // The cuts must outlive the store. References stay valid.
  const Weight& matrix(const std::string& name, uint32_t rows, uint32_t k, CutBy cut,
                       const AxisCuts& cuts, uint32_t unit);

  const VectorWeight& vector(const std::string& name, uint32_t n);
  // Null where the file has no such tensor.
  const VectorWeight* vector_or_null(const std::string& name, uint32_t n);

  // The same weights, described in memory of the calling thread; what is packed is not copied. For
  // graphs that a node's own thread builds. After load().
  std::unique_ptr<WeightStore> copy() const;

  // Throws (kUnsupported) naming a tensor of the file that nothing declared: a model that has
  // weights which this program ignores would give wrong text.
  void check_all_used() const;

  // Bytes of all that is declared in shard s, as `load` lays it out.
  size_t shard_bytes(uint32_t s) const;
  // Bytes in the file of the declared matrices.
  size_t file_bytes() const;

  // `report(bytes done of file_bytes())` is called now and then by member 0. Rows that several
  // shards hold are read for each, so the last of the work may go on at file_bytes().
  using Report = std::function<void(size_t)>;

  // Packs everything: shard s into `arenas[s]`, by the members that stand on it (`member_shards`;
  // by all where nobody does). Pages of the file are let go as soon as a tensor is packed.
  void load(Team& team, const std::vector<uint32_t>& member_shards, std::vector<Arena>& arenas,
            const Report& report);

 private:
  struct Entry {
    Weight weight;
    const GgufTensor* tensor;
  };

  struct VectorEntry {
    VectorWeight weight;
    std::vector<float> values;  // until they are loaded
  };

  const GgufTensor& tensor(const std::string& name, uint32_t rows, uint32_t k) const;
  void load_vectors(std::vector<Arena>& arenas);

  const GgufFile& file_;
  std::vector<std::unique_ptr<Entry>> entries_;
  std::map<std::string, Entry*> by_name_;
  std::map<std::string, VectorEntry> vectors_;
};

}  // namespace hearth
