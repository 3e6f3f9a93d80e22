// Computes prompts on an accelerator, whose memory may be smaller than the model (stream-loading
// prefill, OSDI'26, "hybrid MoE", 3.1). For one layer after another, the layer's matrices are
// copied from the host's memory, the rows of all texts go through the layer, and the layer's keys
// and values are copied into the host's pages. They have the bits that cores compute at levels
// without instructions for BF16.
//
// A layer without experts is one stage. A layer with experts is several: everything up to the
// choice of experts, then one stage for each batch of experts, then the rest (streamed_weights.h
// says what is copied for each). Two counters order copies and stages: *loaded* counts the parts of
// layers that have arrived, *freed* the stages that were computed. A stage waits for *loaded*, and
// a copy into a berth waits for *freed*. So copies run ahead of the stages as far as berths are
// free. The last layer ends with its keys and values. What comes after them is wanted for one token
// only, which an ordinary step computes.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "accelerator/accelerator.h"
#include "graph/step_view.h"
#include "hybrid/host_memory.h"
#include "hybrid/pass_commands.h"
#include "hybrid/pass_memory.h"
#include "hybrid/pass_runner.h"
#include "hybrid/prefill_step.h"
#include "hybrid/stream_plan.h"
#include "hybrid/streamed_weights.h"
#include "models/model.h"

namespace hearth {

// The accelerator counts as hung when no layer ends for so many seconds.
inline constexpr double kMaxLayerSeconds = 20;

class PrefillPass : public PassRunner {
 public:
  // Copies the kept layers, and allocates the memory of the largest pass. Throws Error:
  // kUnsupported where why_no_prefill() (accelerator_layers.h) gives a reason or the accelerator
  // cannot do a call, kResource where memory is short.
  PrefillPass(const PassTarget& target, std::shared_ptr<Accelerator> accelerator,
              const StreamPlan& plan);
  ~PrefillPass() override;

  PassRoom room() const override { return {plan_.rows, plan_.pages}; }
  // Throws Error (kResource) where the accelerator is lost. It counts as lost when no layer has
  // ended for kMaxLayerSeconds.
  void run(std::span<const PassText> texts, PassWatch& watch) override;
  bool ended() const override { return ended_; }
  uint32_t kept_layers() const override { return plan_.kept; }
  uint64_t bytes_in_flight() const override { return plan_.bytes_in_flight(); }
  uint64_t copied_bytes() const override { return copied_bytes_; }

  // Says what the host must copy by itself since it could not be imported, and why: "8 of 12 layers
  // and pages: ...". Empty: it copies nothing.
  const std::string& copied_by_host() const { return copied_by_host_; }

 private:
  class Run;

  // Returns the commands of a pass over the step's rows. Its values have no places yet:
  // PassCommands::lay_out() or lay_out_as() gives them places.
  PassCommands make(const PrefillStep& step) const;
  void write_inputs(const PassCommands& commands);
  void import_memory();
  // Whether the load's bytes are imported, so that the accelerator copies them directly.
  bool imported(const StreamedWeights::Load& load) const;
  // Returns the copies that bring an imported part into its berth.
  CommandList copies_of(const StreamedWeights::Held& held) const;
  // Returns the copies of a load, for the place that its berth has in this pass.
  CommandList& copies_of_load(size_t number);
  // Returns the layout for passes of up to so many rows. There are layouts for the plan's rows, and
  // for a half of them, a quarter and so on.
  const PassMemory::Fit& fit_for(uint32_t rows);
  // Lays the ring of experts for a pass of so many rows, and returns the layout of the pass's
  // values.
  const PassLayout& lay_pass(uint32_t rows);
  bool pages_imported() const { return !pages_memory_.empty(); }
  void reserve();
  void wait_for_all();

  const PassTarget target_;
  const std::shared_ptr<Accelerator> accelerator_;
  const StreamPlan plan_;
  const uint32_t shards_;
  std::string copied_by_host_;
  std::vector<HostMemory> arenas_;        // by shard, as far as they could be imported
  std::vector<HostMemory> pages_memory_;  // by shard; empty unless all could be imported
  StreamedWeights weights_;
  Buffer pages_;
  PassMemory memory_;
  const TimelineId loaded_, freed_;
  uint64_t loads_ = 0, computed_ = 0;  // the last values that submitted commands will signal
  std::vector<uint64_t> berth_users_;  // by berth: `freed` when its last user has ended
  // The copies of each load and the berth that they go to. They are made when the load is first
  // submitted. Later passes change only the berth, and so allocate nothing.
  struct LoadList {
    CommandList list;
    Place berth;
  };
  std::vector<LoadList> load_lists_;
  // Layouts, by how many times the plan's rows are halved for them. Each is made when a pass first
  // needs it.
  std::vector<std::optional<PassMemory::Fit>> fits_;
  uint32_t copy_queue_ = 0;
  uint64_t copied_bytes_ = 0;
  bool ended_ = true;
};

}  // namespace hearth
