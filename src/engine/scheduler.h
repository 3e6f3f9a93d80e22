// The scheduler decides which sequences take part in the next step, and with how many tokens
// (continuous batching with chunked prefill, as in Sarathi-Serve, Agrawal et al., OSDI'24). Used by
// the engine's thread alone.
//
// A step holds a token of every decoding sequence, further pending tokens of these (Generation),
// and chunks of prompts. It is bounded by a number of tokens, and by a time, for which the cost of
// a prompt token is measured. The time is `step_seconds` while a sequence decodes, else
// kAloneFactor times as much, since only newcomers and cancels then wait for the step. But prompts
// get at least `min_chunk` tokens, so that they make progress. A prompt whose rows are expanded
// (graph/ops/latent.h) gets more, since every chunk makes its keys and values anew. Before any
// measurement, chunks are the smallest that show the cost of a token.
//
// It is fair. All decoding sequences take part in every step that has room for them, else they take
// turns. No sequence has a second token in a step in which another decoding sequence would have
// none. Prompts take turns by chunks. So no decoding sequence waits while another takes two turns,
// and no prompt while another takes two. A sequence whose client does not read is left out, and
// gives its place and its pages to sequences that wait for them.
//
// Clients take turns (Request::client, engine/client_turns.h). While there are KV pages for all of
// its tokens so far, a sequence of the client with the fewest running ones is admitted, and of
// these the one that arrived first. Without a place for it, the client with the most running ones,
// at least two more, gives up its youngest. When pages run out, the client with the most also gives
// up its youngest; but sequences whose clients do not read go first. A sequence that gave up its
// place waits, and is computed again later. It generates the same tokens to the bit, since it keeps
// its tokens and its sampler, and results depend on tokens alone.
//
// In models that keep states, steps end where a state is to be kept for later prompts
// (scheduler_states.cc). Of prompts that begin alike, one computes the next page in a step, and the
// others take it from there.
//
// A long prompt may be streamed (hybrid/streamer.h): its pages are filled beside the steps, except
// the page of its last token, which an ordinary step computes afterwards. Meanwhile it takes no
// part in steps, and no other sequence uses its pages; afterwards others find them like any page.
// Another prompt waits for these pages if they hold at least half of the tokens that it would have
// to compute.
//
// If an accelerator's bits are not those of the cores, a rule says which positions have them
// (StreamRule). The accelerator alone computes these, and pages are filed by their maker. If it
// cannot, the cores compute these positions, and such prompts are counted, since their texts may
// change.
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
  // The most tokens of a step; 0: as many as the engine takes. The value 1 is refused, since it
  // would leave no room for prompts beside a sequence that decodes. An engine whose steps have one
  // token runs one sequence.
  uint32_t step_tokens = 0;
  double step_seconds = 0.25;  // bounds steps with prompts while a sequence decodes; 0: no limit
  uint32_t min_chunk = 64;     // tokens of a prompt in a step, if it has as many
  // The least chunk of prompts whose rows are expanded: making keys and values for a smaller one
  // would cost more than it saves.
  uint32_t min_expanded_chunk = 256;
  // Sequences that hold pages; 0: as many as a step gives logits of and, in a model with states, at
  // most as many as have places for them.
  uint32_t max_running = 0;
  bool prefix_cache = true;
  uint32_t state_pages = 64;      // pages between the states kept in a long prompt
  std::function<double()> clock;  // seconds; empty: the steady clock
  // Computes long prompts beside the steps; or null. It must outlive the scheduler's last step and
  // end before the scheduler does.
  PromptStreamer* streamer = nullptr;
};

// The factor on step_seconds for steps without a decoding sequence.
inline constexpr double kAloneFactor = 4;

// Returns the end of the last whole page of `tokens` tokens that leaves at least one token after it
// to compute.
constexpr uint32_t last_page_end(size_t tokens) {
  return static_cast<uint32_t>((tokens - 1) / kPagePositions * kPagePositions);
}

class Scheduler {
 public:
  // `tokenizer` may be null (GenerationLimits). Throws (kUsage) for `step_tokens`.
  Scheduler(Engine& engine, const Tokenizer* tokenizer, SchedulerOptions options,
            Statistics& statistics);

  // Adds a job whose request was checked (check_request). If there is no memory for it, it ends
  // here.
  void add(std::shared_ptr<Job> job) noexcept;
  // Computes one step, and tells the streams of the results that came. Returns false if there is
  // nothing to compute now: there is no sequence, or every sequence has a client that does not
  // read. If it throws, the next call must be end_all().
  bool step();
  // Notes that other engines had the cores for `seconds` before a turn of this one began
  // (engine/step_turns.h).
  void note_wait(double seconds) { turn_seconds_ = (turn_seconds_ + seconds) / 2; }
  // Ends all generations that run or wait.
  void end_all(Finish finish, std::string_view error = {}) noexcept;

  // The part that a running sequence had in the last step.
  struct Turn {
    uint64_t request;
    uint32_t choice;
    bool decodes, held_up;
    bool streams;     // its prompt is under way beside the steps
    bool awaits;      // another sequence's part or pass computes its next page
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
  // The room that the step that is being formed still has.
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
  uint32_t min_chunk_of(const Generation& generation) const;
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
  static void notify(const std::list<GenerationPtr>& generations) noexcept;
  void update_gauges();
  void update_stream_gauges();

  Engine& engine_;
  GenerationLimits limits_;
  SchedulerOptions options_;
  Statistics& statistics_;
  uint64_t arrivals_ = 0;
  std::list<GenerationPtr> waiting_;  // the earliest arrival first
  std::list<GenerationPtr> running_;  // the next one to have a turn comes first
  std::list<GenerationPtr> newborn_;  // siblings that join after the step
  std::list<GenerationPtr> over_;     // ended in this step; their clients are told later
  // The streams under way, by number. A stream whose generation has ended holds its sequence, since
  // passes may still write to its pages; else it is null.
  std::map<uint64_t, std::unique_ptr<Sequence>> streams_;
  // Sequences of lost passes, which may write to their pages at any later time.
  std::map<uint64_t, std::unique_ptr<Sequence>> lost_;
  uint64_t last_stream_ = 0;
  std::vector<Pick> picks_;
  std::vector<std::pair<Generation*, uint32_t>> sampling_;  // those that sample; their logit rows
  std::vector<StepRequest> requests_;
  std::vector<ScoredToken> scored_;  // the tokens that all picks score
  std::vector<Turn> turns_;
  double token_seconds_ = 0;  // measured cost of a prompt token; 0: not yet
  double turn_seconds_ = 0;   // how long a turn waits while other engines have the cores
  double step_end_ = 0;       // when the last step ended
};

}  // namespace hearth
