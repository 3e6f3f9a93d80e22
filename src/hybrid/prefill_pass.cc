#include "hybrid/prefill_pass.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "hybrid/accelerator_layers.h"
#include "hybrid/pass_pages.h"
#include "hybrid/prefill_step.h"
#include "models/walk.h"

namespace hearth {
namespace {

// The most layers whose commands are submitted and have not ended.
constexpr uint32_t kLayersAhead = 2;

// Returns the queue for copies: one that only copies, else the second queue, else the only queue.
uint32_t copy_queue(const AcceleratorFacts& facts) {
  const auto alone = std::ranges::find(facts.queues, false, &QueueFacts::computes);
  if (alone != facts.queues.end()) return static_cast<uint32_t>(alone - facts.queues.begin());
  return facts.queues.size() > 1 ? 1 : 0;
}

const Model& streamable(const Model& model) {
  const std::string why = why_no_prefill(model.spec());
  if (!why.empty()) fail(ErrorCode::kUnsupported, "{}", why);
  return model;
}

}  // namespace

PrefillPass::PrefillPass(const PassTarget& target, std::shared_ptr<Accelerator> accelerator,
                         const StreamPlan& plan)
    : target_(target),
      accelerator_(std::move(accelerator)),
      plan_(plan),
      shards_(target.model->weights().shard_count()),
      weights_(streamable(*target.model), *accelerator_, room_of(plan)),
      loaded_(accelerator_->make_timeline()),
      freed_(accelerator_->make_timeline()),
      berth_users_(weights_.berths(), 0),
      load_lists_(weights_.loads().size()),
      copy_queue_(copy_queue(accelerator_->facts())) {
  import_memory();
  reserve();
}

PrefillPass::~PrefillPass() = default;

// Imports the pages first, then the arenas: if memory for imports is short, pages matter more,
// since every layer waits for them.
void PrefillPass::import_memory() {
  std::string why;
  const auto all = [&](const HostMemory& memory) {
    if (why.empty()) why = memory.why_not_all();
    return memory.why_not_all().empty();
  };
  for (uint32_t s = 0; s < shards_; ++s) {
    if (all(pages_memory_.emplace_back(*accelerator_, target_.kv_memory[s]))) continue;
    pages_memory_.clear();
    break;
  }
  for (uint32_t s = 0; s < shards_; ++s) {
    const Arena& arena = target_.model->arenas()[s];
    all(arenas_.emplace_back(*accelerator_, std::span(arena.data(), arena.capacity())));
  }
  std::set<uint32_t> by_host;
  for (const StreamedWeights::Load& load : weights_.loads()) {
    if (!imported(load)) by_host.insert(load.part.layer);
  }
  if (by_host.empty() && pages_imported()) return;
  copied_by_host_ =
      fmt::format("{} of {} layers{}: {}", by_host.size(), target_.model->spec().layers.size(),
                  pages_imported() ? "" : " and pages", why);
}

bool PrefillPass::imported(const StreamedWeights::Load& load) const {
  return std::ranges::all_of(weights_.held(load.part).runs, [&](const LayerRun& run) {
    return arenas_[run.shard].holds(run.first, run.bytes);
  });
}

CommandList PrefillPass::copies_of(const StreamedWeights::Held& held) const {
  CommandList list;
  for (const LayerRun& run : held.runs) {
    Place to = held.room + run.offset;
    for (const HostMemory::Piece& piece : arenas_[run.shard].pieces(run.first, run.bytes)) {
      list.commands.push_back({.queue = copy_queue_,
                               .ordered = list.commands.empty(),
                               .work = CopyBytes{piece.at, to, piece.bytes}});
      to = to + piece.bytes;
    }
  }
  return list;
}

CommandList& PrefillPass::copies_of_load(size_t number) {
  LoadList& made = load_lists_[number];
  const StreamedWeights::Held& held = weights_.held(weights_.loads()[number].part);
  if (made.list.commands.empty()) {
    made = {copies_of(held), held.room};
    return made.list;
  }
  for (Command& command : made.list.commands) {
    auto& copy = std::get<CopyBytes>(command.work);
    copy.to = held.room + (copy.to.offset - made.berth.offset);
  }
  made.berth = held.room;
  return made.list;
}

PassCommands PrefillPass::make(const PrefillStep& step) const {
  PassCommands commands(!target_.only_timed);
  const PassPages pages(*target_.kv, shards_, pages_.at(), plan_.pages);
  const PrefillPages to{&pages, step.first_pages()};
  AcceleratorLayers builder(weights_, target_.context, step.view(), &commands, &to);
  walk_model(target_.model->spec(), builder);
  return commands;
}

void PrefillPass::write_inputs(const PassCommands& commands) {
  copied_bytes_ += commands.held_bytes() + commands.made_bytes();
  commands.write_inputs(memory_.buffers(),
                        [this](const Place& to, std::span<const std::byte> bytes) {
                          accelerator_->write(to, bytes);
                        });
}

// Reserves memory for the largest pass, and checks that the accelerator can do all its calls. So no
// prompt fails later for lack of memory or of a call.
void PrefillPass::reserve() {
  const auto layers = static_cast<uint32_t>(target_.model->spec().layers.size());
  pages_ = accelerator_->allocate(PassPages::bytes(*target_.kv, shards_, layers, plan_.pages));
  PassCommands largest = make(LargestPass(target_.context, plan_.rows).step());
  largest.lay_out(accelerator_->facts().allocation_bytes);
  memory_ = PassMemory(*accelerator_, largest);
  fits_.emplace_back(PassMemory::Fit{memory_.layout(), {}});
  for (const auto& stage : largest.stages_in(memory_.buffers())) {
    for (const Command& command : stage.list.commands) {
      const auto* call = std::get_if<KernelCall>(&command.work);
      const std::string why = call == nullptr ? "" : accelerator_->why_not(*call);
      if (!why.empty()) fail(ErrorCode::kUnsupported, "{}", why);
    }
  }
}

const PassMemory::Fit& PrefillPass::fit_for(uint32_t rows) {
  size_t halved = 0;
  const auto rows_of = [&](size_t times) { return plan_.rows >> times; };
  while (rows <= rows_of(halved + 1) && rows_of(halved + 1) >= kMinPassRows) ++halved;
  if (halved >= fits_.size()) fits_.resize(halved + 1);
  std::optional<PassMemory::Fit>& fit = fits_[halved];
  if (!fit) {
    PassCommands commands = make(LargestPass(target_.context, rows_of(halved)).step());
    fit = memory_.fit(commands.lay_out(accelerator_->facts().allocation_bytes),
                      weights_.ring_berth_bytes());
  }
  return *fit;
}

// Copies of this pass wait for all that earlier passes computed, since new berths may lie where
// those had values.
const PassLayout& PrefillPass::lay_pass(uint32_t rows) {
  if (!plan_.ring_grows || weights_.ring_berth_bytes() == 0) return memory_.layout();
  const PassMemory::Fit& fit = fit_for(rows);
  weights_.lay_ring(fit.berths);
  berth_users_.assign(weights_.berths(), computed_);
  return fit.layout;
}

// Runs one pass.
class PrefillPass::Run {
 public:
  Run(PrefillPass& of, std::span<const PassText> texts, PassWatch& watch)
      : of_(of),
        texts_(texts),
        watch_(watch),
        step_(texts),
        layout_(of.lay_pass(static_cast<uint32_t>(step_.view().rows()))),
        pages_(*of.target_.kv, of.shards_, of.pages_.at(), of.plan_.pages),
        live_(texts.size(), true),
        taken_(of.weights_.berths(), false) {
    arrivals_.reserve(of.weights_.loads().size());
  }

  void go();

 private:
  // A stage, and whether it is the first and the last of its layer.
  struct Stage {
    LayerPart part;
    bool first, last;
  };
  static Stage stage_at(const std::vector<PassCommands::Stage>& stages, size_t i);
  void load(size_t number);
  // Submits loads of parts in their order, as long as the next berth is free or becomes free by
  // submitted commands. `needed`: the last load that the next stage needs; none where it needs no
  // load.
  void load_ahead(std::optional<size_t> needed);
  void compute(const Stage& stage, CommandList list);
  // Notes that the part's berth is free when `freed` has that value.
  void free(const LayerPart& part, uint64_t value);
  // Calls act(shard, bytes on the host, place, bytes) for each page to be copied, of the texts that
  // are still wanted. If `to_host`, these are the pages that the pass writes; else those that
  // earlier passes filled. Of pages for a window, only those that the window still reaches are
  // copied.
  template <typename Act>
  void for_pages(uint32_t layer, bool to_host, const Act& act);
  void add_page_copies(uint32_t layer, bool to_host, std::vector<Command>* commands);
  void move_pages_by_host(uint32_t layer, bool to_host);
  void drop_unwanted(uint64_t submitted);
  void let_go(uint64_t ended);
  bool any_live() const { return std::ranges::find(live_, true) != live_.end(); }
  void wait_for(uint64_t freed) { of_.accelerator_->wait({of_.freed_, freed}, kMaxLayerSeconds); }

  struct Leaving {
    size_t text;
    uint64_t after;  // the value of `freed` after the last stage that uses its pages
  };

  PrefillPass& of_;
  const std::span<const PassText> texts_;
  PassWatch& watch_;
  const PrefillStep step_;
  const PassLayout& layout_;
  const PassPages pages_;
  std::vector<bool> live_;          // by text: whether it is still wanted
  std::vector<Leaving> leaving_;    // no longer wanted, but still in use
  std::vector<uint64_t> arrivals_;  // by load: the value of `loaded` to wait for; 0: none
  // Whether a berth holds a part that some stage still to be submitted needs.
  std::vector<bool> taken_;
  std::vector<uint64_t> layer_ends_;  // by layer so far: `freed` at its end
  uint64_t filled_ = 0;   // the value of `freed` after the stage that fills the layer's pages
  size_t next_load_ = 0;  // all loads before it were submitted
};

template <typename Act>
void PrefillPass::Run::for_pages(uint32_t layer, bool to_host, const Act& act) {
  const KvView& kv = *of_.target_.kv;
  const bool windowed = kv.kind(layer) == KvKind::kWindow;
  for (size_t t = 0; t < texts_.size(); ++t) {
    if (!live_[t]) continue;
    const PassText& text = texts_[t];
    const std::span<const uint32_t> pages = windowed ? text.window_pages : text.pages;
    const size_t last = to_host ? pages.size() : pages_for(text.first_position);
    size_t first = to_host ? text.first_position / kPagePositions : 0;
    if (windowed) {
      const auto rows = to_host ? static_cast<uint32_t>(text.tokens.size()) : 0;
      const uint32_t whole = (text.first_position + rows) / kPagePositions * kPagePositions;
      first = std::max<size_t>(first, first_window_page(kv.window(), whole));
    }
    for (uint32_t s = 0; s < of_.shards_; ++s) {
      const uint64_t bytes = kv.page_bytes(s, layer);
      for (size_t p = first; bytes > 0 && p < last; ++p) {
        const auto index = step_.first_pages()[t] + static_cast<uint32_t>(p);
        act(s, kv.page(s, layer, pages[p], 0).k, pages_.page(s, layer, index), bytes);
        of_.copied_bytes_ += bytes;
      }
    }
  }
}

// Adds the copies of a layer's pages, which run side by side. The first one waits for all commands
// before it.
void PrefillPass::Run::add_page_copies(uint32_t layer, bool to_host,
                                       std::vector<Command>* commands) {
  bool ordered = true;
  for_pages(layer, to_host, [&](uint32_t s, std::byte* host, Place there, uint64_t bytes) {
    for (const HostMemory::Piece& piece : of_.pages_memory_[s].pieces(host, bytes)) {
      const CopyBytes copy = to_host ? CopyBytes{there, piece.at, piece.bytes}
                                     : CopyBytes{piece.at, there, piece.bytes};
      commands->push_back({.ordered = std::exchange(ordered, false), .work = copy});
      there = there + piece.bytes;
    }
  });
}

void PrefillPass::Run::move_pages_by_host(uint32_t layer, bool to_host) {
  for_pages(layer, to_host, [&](uint32_t, std::byte* host, Place there, uint64_t bytes) {
    if (to_host) {
      of_.accelerator_->read(there, {host, bytes});
    } else {
      of_.accelerator_->write(there, {host, bytes});
    }
  });
}

// Submits the copies of a part into its berth. They begin when the berth is free.
void PrefillPass::Run::load(size_t number) {
  const StreamedWeights::Load& load = of_.weights_.loads()[number];
  taken_[load.berth] = true;
  const uint64_t free = of_.berth_users_[load.berth];
  const StreamedWeights::Held& held = of_.weights_.held(load.part);
  for (const LayerRun& run : held.runs) of_.copied_bytes_ += run.bytes;
  if (!of_.imported(load)) {
    if (free > 0) wait_for(free);
    for (const LayerRun& run : held.runs) {
      of_.accelerator_->write(held.room + run.offset, {run.first, run.bytes});
    }
    arrivals_.push_back(0);
    return;
  }
  CommandList& list = of_.copies_of_load(number);
  list.commands.front().waits.assign(free > 0 ? 1 : 0, {of_.freed_, free});
  list.commands.back().signals.assign(1, {of_.loaded_, of_.loads_ + 1});
  arrivals_.push_back(of_.loads_ + 1);
  of_.accelerator_->submit(list);
  ++of_.loads_;
}

void PrefillPass::Run::free(const LayerPart& part, uint64_t value) {
  const std::optional<size_t> load = of_.weights_.load_of(part);
  if (!load) return;
  const uint32_t berth = of_.weights_.loads()[*load].berth;
  of_.berth_users_[berth] = value;
  taken_[berth] = false;
}

// Submits the commands of a stage. If it is the layer's first, copies of pages stand before and
// behind its commands.
void PrefillPass::Run::compute(const Stage& stage, CommandList list) {
  const std::optional<size_t> load = of_.weights_.load_of(stage.part);
  if (load && arrivals_[*load] > 0) {
    list.commands.front().waits = {{of_.loaded_, arrivals_[*load]}};
  }
  const uint32_t layer = stage.part.layer;
  if (stage.first && of_.pages_imported()) {
    std::vector<Command> with;
    add_page_copies(layer, false, &with);
    std::ranges::move(list.commands, std::back_inserter(with));
    add_page_copies(layer, true, &with);
    list.commands = std::move(with);
  } else if (stage.first) {
    move_pages_by_host(layer, false);
  }
  const uint64_t value = of_.computed_ + 1;
  list.commands.back().signals = {{of_.freed_, value}};
  of_.accelerator_->submit(list);
  of_.computed_ = value;
  if (stage.first) filled_ = value;
  if (stage.part.batch) free(stage.part, value);
  if (!stage.last) return;
  free({layer}, value);
  if (of_.pages_imported()) return;
  // The host itself copies these pages, but only after it submitted all stages of the layer. So the
  // accelerator has work during these copies.
  wait_for(filled_);
  move_pages_by_host(layer, true);
}

// Asks the watch which texts are still wanted. `submitted`: the value of `freed` at the end of the
// last stage that uses the pages of texts now unwanted.
void PrefillPass::Run::drop_unwanted(uint64_t submitted) {
  for (size_t t = 0; t < texts_.size(); ++t) {
    if (!live_[t] || watch_.wanted(t)) continue;
    live_[t] = false;
    leaving_.push_back({t, submitted});
  }
}

// Lets unwanted texts go whose last stage has ended, and tells the watch.
void PrefillPass::Run::let_go(uint64_t ended) {
  std::erase_if(leaving_, [&](const Leaving& one) {
    if (one.after > ended) return false;
    watch_.let_go(one.text);
    return true;
  });
}

void PrefillPass::Run::load_ahead(std::optional<size_t> needed) {
  const std::vector<StreamedWeights::Load>& loads = of_.weights_.loads();
  for (; next_load_ < loads.size() && !taken_[loads[next_load_].berth]; ++next_load_) {
    // This thread would wait until the berth is free if the host itself copied the part. So it does
    // that only for a part that is needed now.
    if (!(needed && next_load_ <= *needed) && !of_.imported(loads[next_load_])) break;
    load(next_load_);
  }
}

PrefillPass::Run::Stage PrefillPass::Run::stage_at(const std::vector<PassCommands::Stage>& stages,
                                                   size_t i) {
  const uint32_t layer = stages[i].part.layer;
  return {stages[i].part, i == 0 || stages[i - 1].part.layer != layer,
          i + 1 == stages.size() || stages[i + 1].part.layer != layer};
}

void PrefillPass::Run::go() {
  // Submits the first loads early, so that they run while the host makes the tokens' embeddings.
  load_ahead(of_.weights_.load_of({}));
  PassCommands commands = of_.make(step_);
  commands.lay_out_as(layout_);
  of_.write_inputs(commands);
  std::vector<PassCommands::Stage> stages = commands.stages_in(of_.memory_.buffers());
  for (size_t i = 0; i < stages.size(); ++i) {
    const Stage stage = stage_at(stages, i);
    if (stage.first) drop_unwanted(of_.computed_);
    if (!any_live()) break;
    const std::optional<size_t> needed = of_.weights_.load_of(stage.part);
    load_ahead(needed);
    HEARTH_CHECK(!needed || *needed < next_load_, "its berth was free");
    compute(stage, std::move(stages[i].list));
    if (!stage.last) continue;
    layer_ends_.push_back(of_.computed_);
    if (layer_ends_.size() < kLayersAhead) continue;
    const uint64_t ended = layer_ends_[layer_ends_.size() - kLayersAhead];
    wait_for(ended);
    let_go(ended);
  }
  of_.wait_for_all();
  let_go(of_.computed_);
}

// Waits also for loads whose layers are not computed any more.
void PrefillPass::wait_for_all() {
  accelerator_->wait({freed_, computed_}, kMaxLayerSeconds);
  accelerator_->wait({loaded_, loads_}, kMaxLayerSeconds);
}

void PrefillPass::run(std::span<const PassText> texts, PassWatch& watch) {
  try {
    Run(*this, texts, watch).go();
  } catch (...) {
    ended_ = false;
    try {
      wait_for_all();
      ended_ = true;
    } catch (const std::exception&) {
      // Either the accelerator hangs and may still write, or the driver stopped it for good.
      ended_ = accelerator_->stopped();
    }
    throw;
  }
}

}  // namespace hearth
