// The scheduler decides which sequences take part in the next step, and with how many tokens
// (continuous batching with chunked prefill, as in Sarathi-Serve, Agrawal et al., OSDI'24). Used by
// the engine's thread alone.
//
// A step holds a token of every decoding sequence, the others that had to come behind it
// (Generation), and chunks of prompts, up to a number of tokens and of seconds by the measured cost
// of a prompt token: `step_seconds` while someone decodes, else kAloneFactor times as many, since
// only newcomers and cancels wait for it then; but at least `min_chunk` tokens, so that prompts
// come forward, and more of a prompt whose rows are expanded (graph/ops/latent.h), since every
// chunk makes keys and values anew. Before anything was measured chunks are as small as can tell
// what a token costs.
//
// It is fair: all decoding sequences take part in every step that has room for them, else in turn,
// and none has a second token in a step where another would have none; prompts take turns by
// chunks. So no decoding sequence waits while another takes two turns, and no prompt while another
// takes two; a sequence whose client doesn't read is left out meanwhile, and gives its place and
// its pages to whoever waits for them.
//
// Clients take turns (Request::client, engine/client_turns.h): while there are KV pages for all its
// tokens so far, a sequence of the client of whom the fewest run is admitted, and of these the one
// that arrived first. Where there is no place for it, the client of whom the most run, two more at
// least, gives one up: its youngest. When pages run out, the client of whom the most run gives its
// youngest up, too; but sequences whose client doesn't read go before all others. A sequence that
// gave up its place waits, and is computed again later: it generates the same tokens to the bit,
// since it keeps its tokens and its sampler, and results depend on tokens alone.
//
// Of models that keep states, steps end where a state is to be kept for who comes next
// (scheduler_states.cc); and of prompts that begin alike one computes the next page in a step, from
// which the others take it.
//
// A long prompt may be streamed (hybrid/streamer.h): its pages are filled beside the steps, all but
// that of its last token, which comes with an ordinary step once they are there. Meanwhile it takes
// no part in steps, and its pages are nobody else's; then others find them as any. A prompt that
// needs them, for half of what it would have to compute or more, waits for them.
//
// Where an accelerator's bits are not those of the cores, a rule says which positions have them
// (StreamRule): these are computed by it alone, and pages are filed by who made them. Where it
// cannot, the cores do, and that is counted, since the text may become another.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/client_turns.h"
#include "engine/engine.h"
#include "engine/generation.h"
#include "engine/statistics.h"
#include "hybrid/streamer.h"

namespace hearth {

struct SchedulerOptions {
  // The most tokens of a step; 0: what the engine takes. One alone would leave prompts nothing
  // beside a sequence that decodes, so it is refused; an engine whose steps have one runs one
  // sequence.
  uint32_t step_tokens = 0;
  double step_seconds = 0.25;  // of a step with prompts while someone decodes; 0: no limit
  uint32_t min_chunk = 64;     // tokens of a prompt in a step, where it has as many
  // The least chunk of prompts whose rows are expanded: a smaller one would make more keys and
  // values than it saves.
  uint32_t min_expanded_chunk = 256;
  // Sequences that hold pages; 0: as many as a step gives logits of, and as there are places for
  // states, where the model keeps some.
  uint32_t max_running = 0;
  bool prefix_cache = true;
  uint32_t state_pages = 64;      // of a long prompt, states are kept at every so manieth page
  std::function<double()> clock;  // seconds; empty: the steady clock
  // Computes long prompts beside the steps; or null. It outlives the scheduler's last step and ends
  // before the scheduler does.
  PromptStreamer* streamer = nullptr;
};

// The factor on step_seconds for steps in which nobody decodes.
inline constexpr double kAloneFactor = 4;

// Returns where the last whole page of so many tokens ends that leaves at least one token behind it
// to compute.
constexpr uint32_t last_page_end(size_t tokens) {
  return static_cast<uint32_t>((tokens - 1) / kPagePositions * kPagePositions);
}

class Scheduler {
 public:
  // `tokenizer` may be null (GenerationLimits). Throws (kUsage) for `step_tokens`.
  Scheduler(Engine& engine, const Tokenizer* tokenizer, SchedulerOptions options,
            Statistics& statistics);

  // The job's request has been checked (check_request). Where there is no memory for it, it ends
  // here.
  void add(std::shared_ptr<Job> job) noexcept;
  // Computes one step, and tells the streams of the results that came. Returns false where there is
  // nothing to compute now: there is no sequence, or every sequence has a client that does not
  // read. Where it throws, the next call must be end_all().
  bool step();
  // Other engines had the cores for `seconds` before a turn of this one began
  // (engine/step_turns.h).
  void note_wait(double seconds) { turn_seconds_ = (turn_seconds_ + seconds) / 2; }
  // Ends everything that is under way or waits.
  void end_all(Finish finish, std::string_view error = {}) noexcept;

  // The part that a running sequence had in the last step.
  struct Turn {
    uint64_t request;
    uint32_t choice;
    bool decodes, held_up;
    bool streams;     // its prompt is under way beside the steps
    bool awaits;      // another's part computes its next page, or a pass does that is not its own
    uint32_t tokens;  // 0: it waited
  };
  // The turns of the last step, in their order.
  const std::vector<Turn>& last_turns() const { return turns_; }

 private:
  using GenerationPtr = std::unique_ptr<Generation>;
  // A sequence's part in the step that is being formed.
  struct Pick {
    Generation* generation;
    uint32_t tokens;
    Want want = Want::kNothing;
    uint32_t scored = 0;   // how many of the tokens, the first ones, are scored
    uint32_t results = 0;  // results still to come, for which its stream has set room aside
  };
  // How much more the step that is being formed has room for.
  struct Room {
    uint32_t tokens, logit_rows, hidden_rows;
  };
  enum class Picked : uint8_t { kYes, kHeldUp, kNoRoom };

  void drop_gone();
  void take_streamed();
  void end_stream(Generation& generation);
  std::unique_ptr<Sequence> new_sequence(const Generation& generation);
  void start_streams();
  double core_seconds(uint32_t tokens) const;
  void start_free_stream(Generation& generation, uint32_t core_tokens);
  void start_own_stream(Generation& generation);
  bool make_way_for_stream();
  void begin_stream(Generation& generation, uint32_t count);
  uint32_t coming_from_passes(const Generation& generation) const;
  uint32_t own_positions(const Generation& generation) const;
  uint32_t streamable_end(const Generation& generation) const;
  void leave_stream(Generation& generation) noexcept;
  bool may_lose(const Generation& generation, uint32_t count) const;
  bool admit();
  bool try_admit(Generation& generation);
  bool pages_come() const;
  ClientTurns client_turns() const;
  std::list<GenerationPtr>::iterator next_waiting();
  uint32_t adopt(Generation& generation);
  void count_cached(Generation& generation, uint32_t tokens);
  bool keeps_states() const;
  uint32_t next_kept(const Generation& generation) const;
  uint32_t cut_at_state(const Generation& generation, uint32_t tokens) const;
  bool awaits_page(const Generation& generation) const;
  void keep_state(const Generation& generation);
  void count_again(const Pick& pick);
  static PageCounts promised_to(const Generation& generation);
  PageCounts promised_pages() const;
  bool form();
  uint32_t pick_decoding(uint32_t decoding, Room* room);
  void pick_prompts(uint32_t whole, uint32_t decoded, Room* room);
  uint32_t affordable_tokens(uint32_t room, uint32_t decoding) const;
  uint32_t least_chunk(const Generation& generation) const;
  Picked pick(Generation& generation, uint32_t tokens, Room* room);
  bool shape(const Generation& generation, const Room& room, Pick* pick) const;
  static bool shape_text(const Generation& generation, const Room& room, Pick* pick);
  void find_pages();
  using Which = std::function<bool(Generation&)>;
  bool preempt_youngest(const Which& which);
  void unpick(Generation* generation);
  void drop_picks();
  void finish_step() noexcept;
  bool compute();
  void note_turns();
  bool run();
  void sample_ahead();
  void deliver();
  struct NextRow {
    uint32_t logits = 0, hidden = 0;
    size_t score = 0;
  };
  bool deliver_to(Pick& pick, NextRow* next);
  bool deliver_scores(Pick& pick, size_t* score);
  bool deliver_token(Generation& generation, uint32_t logit_row, Pick* pick);
  static bool takes_more(const Generation& generation, Pick* pick);
  void take_in_siblings(Pick& pick, uint32_t logit_row);
  void to_waiting(std::list<GenerationPtr>& from, std::list<GenerationPtr>::iterator at);
  void end(Generation& generation, Finish finish, std::string_view error = {});
  void count_end(Finish finish);
  static void tell(const std::list<GenerationPtr>& generations) noexcept;
  void update_gauges();
  void update_stream_gauges();

  Engine& engine_;
  GenerationLimits limits_;
  SchedulerOptions options_;
  Statistics& statistics_;
  uint64_t arrivals_ = 0;
  std::list<GenerationPtr> waiting_;  // by age
  std::list<GenerationPtr> running_;  // the next one to have a turn comes first
  std::list<GenerationPtr> newborn_;  // siblings that join after the step
  std::list<GenerationPtr> over_;     // ended in this step; their clients are not told yet
  // The streams under way, by number: null, or where its generation has ended its sequence, whose
  // pages passes may still write.
  std::map<uint64_t, std::unique_ptr<Sequence>> streams_;
  // Sequences of lost passes: their pages may be written for good.
  std::map<uint64_t, std::unique_ptr<Sequence>> lost_;
  uint64_t last_stream_ = 0;
  std::vector<Pick> picks_;
  std::vector<std::pair<Generation*, uint32_t>> sampling_;  // those that sample; their logit rows
  std::vector<StepRequest> requests_;
  std::vector<ScoredToken> scored_;  // of all picks
  std::vector<Turn> turns_;
  double token_seconds_ = 0;  // measured cost of a prompt token; 0: not yet
  double turn_seconds_ = 0;   // for which a turn waits while other engines have the cores
  double step_end_ = 0;       // of the last step, by the clock
};

}  // namespace hearth
