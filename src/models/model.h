// A Model is a spec placed and packed on a machine. Every shard's weights lie in an arena on the
// shard's node. Lanes work on them (engine/lane.h), several at once if need be. A process may hold
// any number of models.
//
// A model is made in two steps, since a lane's threads do the packing: the constructor maps memory
// and touches none, load() fills it. Errors are those of Arena.
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
  std::vector<uint32_t> shares;       // one a shard: axes are cut in proportion
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

  // Packs all weights from the source that the spec was made of. The members of the team that stand
  // on a shard (`member_shards`) pack it; without any, all members do. Pages of the source are
  // released as soon as a weight is packed. Member 0 now and then calls report(done), with bytes
  // done of spec().matrix_bytes(). Rows that several shards hold are read once for each of these
  // shards, so work may go on after the last report. Throws Error (kFile) naming a tensor whose
  // scales are damaged.
  using Report = std::function<void(size_t)>;
  void load(const ModelSource& source, Team& team, const std::vector<uint32_t>& member_shards,
            const Report& report);
  // Gives every weight its place like load(), but reads no file and touches no memory, so all
  // weights read as zeros. This is for predicting a model's times without computing, also on a
  // machine that is only described and may be larger than this one.
  void lay_out();
  // Frees the memory of the weights; spec and table stay valid.
  void release_weights();
  // Returns how long loading took.
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
