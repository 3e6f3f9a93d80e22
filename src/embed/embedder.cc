#include "embed/embedder.h"

#include <algorithm>
#include <deque>
#include <memory>

#include "base/check.h"
#include "base/error.h"
#include "engine/kv_pool.h"
#include "engine/logits.h"

namespace hearth {

namespace {

// The most texts of a step in models with states: each text has a state, of 60 MiB in large models.
constexpr uint32_t kMaxStates = 8;

}  // namespace

EngineOptions embed_engine_options(const ModelSpec& spec, PoolingType pooling,
                                   EngineOptions options) {
  bool whole = !spec.has_kv_cache();
  if (options.context == 0) {
    uint32_t most = std::min(spec.hyper.context, kMaxContext);
    options.context = whole ? most : std::min(most, kDefaultContext);
  }
  if (whole) options.prefill_rows = std::max(options.prefill_rows, options.context);
  options.items = std::min(options.items, options.prefill_rows);
  if (spec.has_states()) options.items = std::min(options.items, kMaxStates);
  options.outputs = 1;  // the least that an engine has; nothing is generated
  options.hidden_rows = pooling == PoolingType::kMean ? options.prefill_rows : options.items;
  if (!whole) {
    // A text that continues over several steps may hold pages for a whole context. The other texts
    // of a step fill their pages, except the last page of each.
    options.sequences = options.items;
    if (!options.asks_kv_size()) {
      options.kv_pages =
          pages_for(options.context) + options.prefill_rows / kPagePositions + options.items;
    }
  }
  return options;
}

namespace {

// A text under way.
struct OpenText {
  std::unique_ptr<Sequence> sequence;
  std::span<const int32_t> left;
  uint32_t second;
  size_t index;
  Pooler pooler;
  bool begun = false;
  size_t taken = 0;  // tokens in the step that is being formed
};

Want want_of(PoolingType pooling, bool first, bool last) {
  if (pooling == PoolingType::kMean) return Want::kHidden;
  if (pooling == PoolingType::kCls) return first ? Want::kHiddenFirst : Want::kNothing;
  return last ? Want::kHiddenLast : Want::kNothing;
}

size_t wanted_rows(Want want, size_t tokens) {
  return want == Want::kHidden ? tokens : want == Want::kNothing ? 0 : 1;
}

}  // namespace

// The texts of one call of run(), which are computed step by step. Only the last text of a step may
// continue in the next step. So there are enough pages: embed_engine_options() counts them for one
// such text.
class Embedder::Batch {
 public:
  using Texts = std::span<const EmbedText>;

  Batch(Embedder& embedder, Texts texts)
      : embedder_(embedder),
        engine_(embedder.engine_),
        texts_(texts),
        vectors_(texts.size()),
        aim_(embedder.step_tokens(texts)) {}

  bool done() const { return next_ == texts_.size() && open_.empty(); }
  void step();
  std::vector<std::vector<float>> take() && { return std::move(vectors_); }

 private:
  void form();
  bool take_part(OpenText& text, size_t room);
  void compute();

  Embedder& embedder_;
  StepEngine& engine_;
  Texts texts_;
  std::vector<std::vector<float>> vectors_;
  size_t aim_;                 // tokens of a step
  size_t next_ = 0;            // the first text that has not begun
  std::deque<OpenText> open_;  // texts in this step; at most one between steps
  PageCounts pages_;           // the pages that this step takes
};

// Sets how many tokens of the text this step computes. Returns false if there is no room for any
// token.
bool Embedder::Batch::take_part(OpenText& text, size_t room) {
  bool whole = !engine_.pool().keeps_pages();
  if (whole && text.left.size() > room) return false;
  text.taken = std::min(text.left.size(), room);
  if (whole) return true;
  const auto with_text = [&] {
    PageCounts pages = pages_;
    pages += text.sequence->pages_needed(static_cast<uint32_t>(text.taken));
    return pages;
  };
  while (text.taken > 0 && !with_text().fit(engine_.available_pages())) {
    // Pages are short, so the text's part of the step is cut to end a page earlier.
    size_t end = text.sequence->length() + text.taken;
    size_t less = (end - 1) / kPagePositions * kPagePositions;
    text.taken = less > text.sequence->length() ? less - text.sequence->length() : 0;
  }
  pages_ = with_text();
  return text.taken > 0;
}

void Embedder::Batch::form() {
  const EngineOptions& options = engine_.options();
  size_t most = options.prefill_rows, tokens = 0;
  pages_ = {};
  bool whole = !engine_.pool().keeps_pages();
  if (!open_.empty() && take_part(open_.front(), aim_)) tokens = open_.front().taken;
  while (next_ < texts_.size() && tokens < aim_ && open_.size() < options.items) {
    if (!open_.empty() && open_.back().taken < open_.back().left.size()) return;
    const auto& [tokens_of, second] = texts_[next_];
    OpenText text{engine_.new_sequence(static_cast<uint32_t>(tokens_of.size())), tokens_of, second,
                  next_, Pooler(embedder_.options_.pooling, engine_.spec().hyper.width)};
    if (!take_part(text, (whole ? most : aim_) - tokens)) return;
    tokens += text.taken;
    open_.push_back(std::move(text));
    ++next_;
  }
}

void Embedder::Batch::compute() {
  std::vector<StepRequest> requests;
  for (const OpenText& text : open_) {
    Want want = want_of(embedder_.options_.pooling, !text.begun, text.taken == text.left.size());
    // Only texts that are taken whole have tokens of the second type.
    requests.push_back({text.sequence.get(), text.left.first(text.taken), want, text.second});
  }
  engine_.step(requests);
  size_t row = 0;
  for (size_t i = 0; i < requests.size(); ++i) {
    size_t rows = wanted_rows(requests[i].want, requests[i].tokens.size());
    for (; rows > 0; --rows) open_[i].pooler.add(engine_.hidden(row++));
  }
}

void Embedder::Batch::step() {
  form();
  HEARTH_CHECK(!open_.empty() && open_.front().taken > 0, "a step has tokens");
  compute();
  while (!open_.empty()) {
    OpenText& text = open_.front();
    text.left = text.left.subspan(text.taken);
    text.begun = true;
    if (!text.left.empty()) break;
    vectors_[text.index] = embedder_.finish(&text.pooler);
    open_.pop_front();
  }
}

Embedder::Embedder(Engine& engine, const EmbedOptions& options)
    : engine_(engine), options_(options) {
  if (options.scoring) head_.emplace(*engine.model(), options.scoring->words);
}

Embedder::Embedder(PassEngine& engine, const EmbedOptions& options)
    : engine_(engine), options_(options) {
  HEARTH_CHECK(!options.scoring, "a head is read from the model");
}

void Embedder::check(std::span<const EmbedText> texts) const {
  for (const auto& [text, second] : texts) {
    if (text.empty()) fail(ErrorCode::kRequest, "the text has no tokens");
    if (text.size() > context()) {
      fail(ErrorCode::kRequest, "the text has {} tokens, more than the context of {}", text.size(),
           context());
    }
    for (int32_t token : text) {
      if (token >= 0 && static_cast<uint32_t>(token) < engine_.spec().hyper.vocabulary) continue;
      fail(ErrorCode::kRequest, "token {} is not in the vocabulary of {} tokens", token,
           engine_.spec().hyper.vocabulary);
    }
  }
}

// Returns the most tokens of a step. There are as few steps as the texts need, of about equal size:
// a short last one would use the machine badly.
size_t Embedder::step_tokens(std::span<const EmbedText> texts) const {
  size_t all = 0, most = engine_.options().prefill_rows;
  for (const EmbedText& text : texts) all += text.tokens.size();
  size_t steps = std::max<size_t>(1, (all + most - 1) / most);
  return (all + steps - 1) / steps;
}

std::vector<float> Embedder::finish(Pooler* pooler) const {
  std::vector<float> vector = pooler->take();
  // A head could turn a vector that is not finite into a finite score, so it only reads finite
  // ones.
  if (head_ && all_finite(vector)) vector = {head_->score(vector)};
  if (!all_finite(vector)) {
    fail(ErrorCode::kFile,
         "the model computes {}: its weights are damaged or overflow; download the file again",
         head_ ? "a score that is not a number" : "a vector whose elements are not all numbers");
  }
  if (options_.normalise && !head_) normalise(vector);
  return vector;
}

std::vector<std::vector<float>> Embedder::run(std::span<const EmbedText> texts) {
  check(texts);
  Batch batch(*this, texts);
  while (!batch.done()) batch.step();
  return std::move(batch).take();
}

}  // namespace hearth
