// Prompts computed on an accelerator by a model that need not fit there (stream-loading prefill,
// OSDI'26, "hybrid MoE", 3.1): layer after layer its matrices are copied from where the cores have
// them, the rows of all texts go through, and the layer's keys and values go back into the host's
// pages. They have the bits that the cores give (of levels without instructions for BF16).
//
// A layer is one stage, or with experts some: up to the experts' choice, a batch of experts each,
// and what follows them (streamed_weights.h says what is copied for which). Two counters order it:
// *loaded*, the parts of layers that have arrived, and *freed*, the stages that were computed. A
// stage waits for the one, the copies into its berth for the other, so copies run ahead as far as
// berths are free. The last layer ends with its keys and values: what comes behind them is wanted
// of one token, which comes with an ordinary step.
#pragma once

#include <memory>
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

// Seconds for a layer, after which the accelerator counts as hung.
inline constexpr double kMostLayerSeconds = 20;

class PrefillPass : public PassRunner {
 public:
  // Copies what stays, and takes the memory of the largest pass. Throws Error: kUnsupported where
  // why_no_prefill() of accelerator_layers.h says so or the accelerator cannot do a call, kResource
  // where memory is short.
  PrefillPass(const PassTarget& target, std::shared_ptr<Accelerator> accelerator,
              const StreamPlan& plan);
  ~PrefillPass() override;

  PassRoom room() const override { return {plan_.rows, plan_.pages}; }
  // Fails (kResource) where the accelerator is lost, as it counts where no layer has ended for
  // kMostLayerSeconds.
  void run(std::span<const PassText> texts, PassWatch& watch) override;
  bool ended() const override { return ended_; }
  uint32_t kept_layers() const override { return plan_.kept; }
  uint64_t bytes_in_flight() const override { return plan_.bytes_in_flight(); }
  uint64_t copied_bytes() const override { return copied_bytes_; }

  // Says what the host copies, since it is not imported, and why: "8 of 12 layers and pages: ...";
  // empty: nothing.
  const std::string& copied_by_host() const { return copied_by_host_; }

 private:
  class Run;

  // Returns the commands of a pass over the step's rows, whose values have no memory yet
  // (PassCommands::lay_out() or lay_out_as() gives it).
  PassCommands make(const PrefillStep& step) const;
  void write_inputs(const PassCommands& commands);
  void import_memory();
  // Whether the accelerator copies what is to be loaded from where it lies.
  bool imported(const StreamedWeights::Load& load) const;
  // The copies of what is imported, on the way to its berth.
  CommandList copies_of(const StreamedWeights::Held& held) const;
  bool pages_imported() const { return !pages_memory_.empty(); }
  void reserve();
  void wait_for_all();

  const PassTarget target_;
  const std::shared_ptr<Accelerator> accelerator_;
  const StreamPlan plan_;
  const uint32_t shards_;
  std::string copied_by_host_;
  std::vector<HostMemory> arenas_;        // by shard, as far as they are imported
  std::vector<HostMemory> pages_memory_;  // by shard; none where not all are
  StreamedWeights weights_;
  Buffer pages_;
  PassMemory memory_;
  const TimelineId loaded_, freed_;
  uint64_t loads_ = 0, computed_ = 0;  // values that commands were submitted for
  std::vector<uint64_t> berth_users_;  // by berth: `freed` when its last user has ended
  // The copies of each load, made when it is first submitted. They are the same in every pass, so
  // later passes allocate nothing for them.
  std::vector<CommandList> load_lists_;
  uint32_t copy_queue_ = 0;
  uint64_t copied_bytes_ = 0;
  bool ended_ = true;
};

}  // namespace hearth
