// Model: a spec placed and packed on a machine. Every shard's weights lie in an arena on the
// shard's node; lanes work on them (engine/lane.h), several at once if need be, and a process may
// hold any number of models.
//
// Made in two steps, since the threads that pack are a lane's: the constructor maps memory and
// touches none, load() fills it. Errors: those of Arena.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "memory/arena.h"
#include "models/weight_table.h"
#include "threads/team.h"

namespace hearth {

struct ModelPlacement {
  std::vector<uint32_t> shard_nodes;  // machine node of each shard
  std::vector<uint32_t> shares;       // by which the axes are cut, one a shard
  Binding binding = Binding::kNode;
  ExpertCut experts = ExpertCut::kCut;
};

class Model {
 public:
  Model(ModelSpec spec, const Machine& machine, ModelPlacement placement);
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  const ModelSpec& spec() const { return spec_; }
  const ModelPlacement& placement() const { return placement_; }
  // Returns the axes by AxisId.
  const std::vector<CutAxis>& axes() const { return axes_; }
  const WeightTable& weights() const { return weights_; }
  // Returns the arenas by shard.
  const std::vector<Arena>& arenas() const { return arenas_; }

  // Packs everything from the source that the spec was made of: a shard by the members of the team
  // that stand on it (`member_shards`; by all where nobody does). Pages of the source are let go as
  // soon as a weight is packed. `report(bytes done of spec().matrix_bytes())` is called now and
  // then by member 0; rows that several shards hold are read for each, so the last of the work may
  // go on after the last byte was told. Throws (kFile) naming a tensor whose scales are damaged.
  using Report = std::function<void(size_t)>;
  void load(const ModelSource& source, Team& team, const std::vector<uint32_t>& member_shards,
            const Report& report);
  // Gives every weight its place, as load() does, but reads no file and touches no memory, so all
  // weights read as zeros. For predicting a model's times without computing, also on a machine that
  // is only described and may be larger than this one.
  void lay_out();
  // Frees the memory of the weights; spec and table stay.
  void release_weights();
  // How long loading took.
  double packing_seconds() const { return packing_seconds_; }

 private:
  void place_matrix(Weight* matrix);
  void load_vectors();
  void load_matrices(const ModelSource& source, Team& team,
                     const std::vector<uint32_t>& member_shards, const Report& report);

  ModelSpec spec_;
  ModelPlacement placement_;
  std::vector<CutAxis> axes_;
  WeightTable weights_;
  std::vector<Arena> arenas_;
  double packing_seconds_ = 0;
};

}  // namespace hearth
