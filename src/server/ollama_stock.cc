#include "server/ollama_stock.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "base/clock.h"
#include "base/json.h"
#include "server/exception_error.h"
#include "server/json_fields.h"
#include "store/pull.h"

namespace hearth {
namespace {

// Seconds between two lines of one file's progress.
constexpr double kProgressSeconds = 0.25;
// How many of a digest's digits name a file in the lines, as in ollama's own.
constexpr size_t kDigestDigits = 12;

std::string status_line(std::string_view status) {
  Json json;
  return json.object().key("status").text(status).end_object().line();
}

std::string progress_line(const std::string& name, const std::string& digest, uint64_t done,
                          uint64_t total) {
  Json json;
  json.object().key("status").text("pulling " + name).key("digest").text(digest);
  json.key("total").number(total).key("completed").number(done);
  return json.end_object().line();
}

// A file's name and digest, as the lines show them.
struct FileWords {
  std::string name, digest;
};

std::map<std::string, FileWords> words_of(const RepoModel& model) {
  std::map<std::string, FileWords> words;
  for (const RepoFile& file : model.files) {
    words[file.path] = {file.digest().substr(0, kDigestDigits),
                        (file.is_large() ? "sha256:" : "sha1:") + file.digest()};
  }
  return words;
}

ApiError ended_pull() {
  return {503, "", "draining",
          "the server is shutting down; what was downloaded is kept: send the same request again "
          "to continue"};
}

}  // namespace

std::string read_ollama_name(const boost::json::object& body) {
  const boost::json::value* given = find_field(body, "model");
  if (given == nullptr) given = find_field(body, "name");
  if (given == nullptr) throw RequestError(kMissingField, "model", "is missing");
  return text_field(*given, "model");
}

void OllamaPull::begin() {
  on_worker([this] { read(); }, exchange().request().body.size());
}

void OllamaPull::read() {
  const boost::json::object body = read_object(exchange().request().body, depth_);
  name_ = read_ollama_name(body);
  const boost::json::value* stream = find_field(body, "stream");
  streams_ = stream == nullptr || bool_field(*stream, "stream");
  on_reactor([this] { wait_turn(); });
}

void OllamaPull::wait_turn() {
  const auto self = std::static_pointer_cast<OllamaPull>(shared_from_this());
  if (!line_.post(stop_, [self] { self->pull(); })) {
    return fail({429,
                 "",
                 "queue_full",
                 fmt::format("{} models are already waiting to be pulled: try again later",
                             PullLine::kMaxWaiting),
                 {},
                 {{"Retry-After", "60"}}});
  }
  if (streams_) exchange().begin_events();
}

void OllamaPull::say(std::string line) {
  if (!streams_) return;
  on_reactor([this, line = std::move(line)] { exchange().send(line); });
}

PullListener OllamaPull::listener() {
  auto words = std::make_shared<std::map<std::string, FileWords>>();
  return {.note = [this](const std::string& sentence) { say(status_line(sentence)); },
          .begin = [words](const RepoModel& model, uint64_t) { *words = words_of(model); },
          .progress =
              [this, words](const std::string& file, uint64_t done, uint64_t total) {
                const double now = steady_seconds();
                if (done < total && now < reported_seconds_ + kProgressSeconds) return;
                reported_seconds_ = now;
                const FileWords& known = (*words)[file];
                say(progress_line(known.name, known.digest, done, total));
              }};
}

void OllamaPull::pull() noexcept {
  auto fail_later = [this](const ApiError& error) { on_reactor([this, error] { fail(error); }); };
  try {
    say(status_line("pulling manifest"));
    if (!*stop_ && stock_.pull(name_, *stop_, listener())) {
      on_reactor([this] { finish(); });
    } else {
      fail_later(ended_pull());
    }
  } catch (const std::exception& thrown) {
    // A pull that was stopped fails with its own error, not as an error of the hub.
    answer_failure(thrown, exchange(),
                   [&](const ApiError& error) { fail_later(*stop_ ? ended_pull() : error); });
  }
}

void OllamaPull::finish() {
  std::string line = status_line("success");
  if (streams_) {
    exchange().send(std::move(line));
    exchange().end();
  } else {
    exchange().reply({.body = std::move(line)});
  }
  end(Outcome::kOk, 200, "");
}

void OllamaPull::forget() noexcept {
  Answer::forget();
  *stop_ = true;  // the PullLine may be destroyed already
}

void OllamaDelete::begin() {
  auto remove = [this] {
    stock_.remove(read_ollama_name(read_object(exchange().request().body, depth_)));
    reply_with(std::make_unique<MadeBody>(status_line("success")), Outcome::kOk);
  };
  on_worker(remove, exchange().request().body.size());
}

}  // namespace hearth
