#include "cli/embed_stream.h"

#include <fmt/format.h>

#include <condition_variable>
#include <mutex>
#include <utility>

#include "base/bytes_text.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/progress.h"
#include "cli/text_io.h"
#include "embed/embed_text.h"
#include "embed/pooling.h"

namespace hearth {
namespace {

// The most texts in flight: they are many, so that one slow text does not stop other devices.
constexpr size_t kWindow = 4096;
// The most texts without a vector that are reported one by one; further ones are counted.
constexpr uint64_t kMaxReported = 20;

std::string texts_text(uint64_t count) { return fmt::format("{} texts", count); }

[[noreturn]] void fail_at(const std::string& place, const Error& error) {
  throw Error(error.code(), fmt::format("{}: {}", place, error.what()));
}

// State shared by the devices' threads and the thread that runs the stream.
struct Mailbox {
  std::mutex mutex;
  std::condition_variable changed;
};

// A text in flight.
struct Pending {
  EmbedQuery query;
  std::string id, place;
  size_t whole = 0;
  std::string_view no_tokens;           // why nothing is computed for it, or empty
  std::optional<EmbedOutcome> outcome;  // guarded by the mailbox's mutex
};

class Stream {
 public:
  Stream(TextRows& rows, const Tokenizer& tokenizer, QueueManager& manager,
         const StreamOptions& options, const Interrupts& interrupts, VectorOutput& output)
      : rows_(rows),
        tokenizer_(tokenizer),
        manager_(manager),
        options_(options),
        interrupts_(interrupts),
        output_(output),
        mailbox_(std::make_shared<Mailbox>()),
        progress_("embedding", rows.total(),
                  rows.counts_bytes() ? AmountText(bytes_text) : AmountText(texts_text)) {}

  StreamTotals run();

 private:
  bool read_one();
  bool submit(const std::shared_ptr<Pending>& pending);
  bool write_ready(std::chrono::milliseconds wait);
  void write(Pending& pending);
  void skip(const Pending& pending);

  TextRows& rows_;
  const Tokenizer& tokenizer_;
  QueueManager& manager_;
  const StreamOptions& options_;
  const Interrupts& interrupts_;
  VectorOutput& output_;
  std::shared_ptr<Mailbox> mailbox_;
  std::deque<std::shared_ptr<Pending>> window_;  // in the order of the texts
  bool ended_ = false;
  StreamTotals totals_;
  Progress progress_;
};

// Submits a text, after waiting until there is room for it. Returns false if Ctrl-C came before
// that.
bool Stream::submit(const std::shared_ptr<Pending>& pending) {
  auto done = [pending, box = mailbox_](EmbedOutcome outcome) {
    std::lock_guard lock(box->mutex);
    pending->outcome = std::move(outcome);
    box->changed.notify_all();
  };
  auto interrupted = [&] { return interrupts_.received(); };
  try {
    return manager_.submit_waiting(pending->query, done, kPatience, interrupted);
  } catch (const Error& error) {
    fail_at(pending->place, error);
  }
}

// Reads the next text, if one is available by now.
bool Stream::read_one() {
  TextRow row;
  FileLines::Got got = rows_.next(&row, window_.empty() ? kLookUp : std::chrono::milliseconds(0));
  if (got == FileLines::Got::kEnd) ended_ = true;
  if (got != FileLines::Got::kLine) return false;
  auto pending = std::make_shared<Pending>();
  StreamQuery made = make_query(tokenizer_, options_, row);
  pending->query = std::move(made.query);
  pending->whole = made.whole;
  pending->id = std::move(row.id);
  pending->place = std::move(row.place);
  pending->no_tokens = made.no_tokens;
  if (pending->no_tokens.empty() && !submit(pending)) return false;
  window_.push_back(std::move(pending));
  return true;
}

void Stream::write(Pending& pending) {
  EmbedOutcome& outcome = *pending.outcome;
  if (outcome.error) fail_at(pending.place, *outcome.error);
  size_t tokens = pending.query.tokens.size();
  if (options_.dimensions) {
    cut_dimensions(*options_.dimensions, options_.normalise, &outcome.vector);
  }
  output_.write({output_.rows(), pending.id, tokens, pending.whole, outcome.vector});
  ++totals_.texts;
  totals_.tokens += tokens;
  totals_.cut += pending.whole > tokens ? 1 : 0;
}

void Stream::skip(const Pending& pending) {
  output_.skip();
  if (++totals_.without > kMaxReported) return;
  progress_.finish();
  print_note(fmt::format("{}: {}, so it gets no vector{}", pending.place, pending.no_tokens,
                         totals_.without == kMaxReported ? "; further ones are only counted" : ""));
}

// Writes the results of the oldest texts, up to the first that is not finished. Waits up to `wait`
// for the oldest.
bool Stream::write_ready(std::chrono::milliseconds wait) {
  bool any = false;
  while (!window_.empty()) {
    std::shared_ptr<Pending> front = window_.front();
    if (!front->no_tokens.empty()) {
      window_.pop_front();
      skip(*front);
      any = true;
      continue;
    }
    {
      std::unique_lock lock(mailbox_->mutex);
      auto ready = [&] { return front->outcome.has_value(); };
      if (!mailbox_->changed.wait_for(lock, any ? std::chrono::milliseconds(0) : wait, ready))
        break;
    }
    if (front->outcome->error && front->outcome->error->code() == ErrorCode::kBusy) {
      // The text's device failed or had too much to do, and no other device had room. So the text
      // is submitted again.
      front->outcome.reset();
      if (!submit(front)) break;
      continue;
    }
    window_.pop_front();
    write(*front);
    any = true;
  }
  return any;
}

StreamTotals Stream::run() {
  double start = steady_seconds();
  std::optional<Error> failure;
  while (!(ended_ && window_.empty())) {
    if (interrupts_.received()) {
      totals_.interrupted = true;
      write_ready(std::chrono::milliseconds(0));
      break;
    }
    bool read = false;
    if (!ended_ && window_.size() < kWindow) {
      try {
        read = read_one();
      } catch (const Error& error) {
        // Earlier texts are written before the error is thrown.
        failure = error;
        ended_ = true;
      }
    }
    write_ready(read ? std::chrono::milliseconds(0) : kLookUp);
    progress_.update(rows_.done(), fmt::format("{} vectors", totals_.texts));
  }
  progress_.finish();
  totals_.seconds = steady_seconds() - start;
  if (failure && !totals_.interrupted) throw Error(*failure);
  return totals_;
}

}  // namespace

StreamQuery make_query(const Tokenizer& tokenizer, const StreamOptions& options,
                       const TextRow& row) {
  StreamQuery made;
  EmbedTokens tokens;
  std::string text = options.prefix + row.text;
  try {
    // An empty text stays empty: it does not get the prefix.
    if (!row.text.empty()) tokens = embed_tokens(tokenizer, text, options.context);
  } catch (const Error& error) {
    fail_at(row.place, error);
  }
  if (tokens.ids.empty()) {
    made.no_tokens = no_tokens_reason(row.text);
    return made;
  }
  if (tokens.was_cut() && !options.truncate) {
    fail(ErrorCode::kRequest,
         "{}: the text has {} tokens, more than the context of {}: split it, raise --ctx if the "
         "model allows it, or cut it with --truncate",
         row.place, tokens.whole, options.context);
  }
  made.whole = tokens.whole;
  // Endpoints read the text itself. If it was cut, they get none, since they would read all of it.
  if (options.texts && !tokens.was_cut()) made.query.text = std::move(text);
  made.query.tokens = std::move(tokens.ids);
  return made;
}

StreamTotals stream_vectors(TextRows& rows, const Tokenizer& tokenizer, QueueManager& manager,
                            const StreamOptions& options, const Interrupts& interrupts,
                            VectorOutput& output) {
  return Stream(rows, tokenizer, manager, options, interrupts, output).run();
}

}  // namespace hearth
