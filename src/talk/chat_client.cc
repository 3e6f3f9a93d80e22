#include "talk/chat_client.h"

#include <fmt/format.h>

#include <boost/json.hpp>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/json_reader.h"
#include "base/printable.h"
#include "base/utf8_stream.h"

namespace hearth {
namespace {

constexpr long kConnectMilliseconds = 10'000;
constexpr int kPollMilliseconds = 1000;
// Limits in bytes. kMaxBodyBytes is for a body that is no stream (errors, lists of models) and for
// one event of a stream. kShownBody and kShownError are for the parts of them that are shown.
constexpr size_t kMaxBodyBytes = 16 << 20;
constexpr size_t kShownBody = 200, kShownError = 1000;

const boost::json::object* object_at(const boost::json::object& object, std::string_view key) {
  const boost::json::value* value = object.if_contains(key);
  return value == nullptr ? nullptr : value->if_object();
}

std::string string_at(const boost::json::object& object, std::string_view key) {
  const boost::json::value* value = object.if_contains(key);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : "";
}

std::optional<uint64_t> count_at(const boost::json::object& object, std::string_view key) {
  const boost::json::value* value = object.if_contains(key);
  if (value == nullptr || !value->is_int64() || value->get_int64() < 0) return std::nullopt;
  return static_cast<uint64_t>(value->get_int64());
}

// Returns the message of {"error": {"message": "..."}} or {"error": "..."}; empty where the object
// is no error.
std::string error_of(const boost::json::object& object) {
  if (const boost::json::object* error = object_at(object, "error")) {
    std::string message = string_at(*error, "message");
    return message.empty() ? "an error without a message" : message;
  }
  return string_at(object, "error");
}

std::string refusal(unsigned status, const std::string& body) {
  try {
    const boost::json::value value = read_json(body);
    std::string said = value.is_object() ? error_of(value.get_object()) : "";
    if (!said.empty()) {
      return fmt::format("the server refuses ({}): {}", status, printable(said, kShownError));
    }
  } catch (const Error&) {
  }
  return fmt::format("the server answers with status {}: {}", status, printable(body, kShownBody));
}

}  // namespace

std::string endpoint_url(const std::string& url) {
  size_t host = url.find("://");
  std::string scheme = url.substr(0, host);
  if (host == url.npos || (scheme != "http" && scheme != "https")) {
    fail(ErrorCode::kUsage, "'{}' is not the address of a server, such as http://127.0.0.1:8080",
         url);
  }
  std::string whole = url;
  while (whole.ends_with('/')) whole.pop_back();
  return whole.find('/', host + 3) == whole.npos ? whole + "/v1" : whole;
}

// A request under way, and the part of its reply that has come.
struct ChatClient::Transfer {
  ClientRequest request;
  const OnPiece* on_piece = nullptr;  // null: the body is kept as a whole
  ChatAnswer answer = {};
  std::string body = {};
  EventReader reader = {};
  size_t unended = 0;  // bytes since the last complete event
  bool done = false;   // the stream's last event has come
  double start = steady_seconds();
  std::optional<double> first = {};
  std::exception_ptr thrown = {};
  CurlHandle* handle = nullptr;

  void take(std::string_view bytes) {
    if (on_piece == nullptr || handle->status() != 200) {
      if (body.size() + bytes.size() <= kMaxBodyBytes) body += bytes;
      return;
    }
    std::vector<std::string> events;
    reader.take(bytes, &events);
    for (const std::string& event : events) take_event(event);
    unended = events.empty() ? unended + bytes.size() : 0;
    if (unended > kMaxBodyBytes) {
      fail(ErrorCode::kResource, "the server sent an event of more than 16 MiB");
    }
  }

  void take_event(const std::string& event) {
    if (event == "[DONE]") {
      done = true;
      return;
    }
    const boost::json::value value = read_json(well_formed_utf8(event));
    const boost::json::object* object = value.if_object();
    if (object == nullptr) return;
    if (std::string said = error_of(*object); !said.empty()) {
      answer.problem = printable(said, kShownError);
    }
    if (const boost::json::object* usage = object_at(*object, "usage")) take_usage(*usage);
    const boost::json::value* choices = object->if_contains("choices");
    const boost::json::array* list = choices == nullptr ? nullptr : choices->if_array();
    if (list != nullptr && !list->empty() && list->front().is_object()) {
      take_choice(list->front().get_object());
    }
  }

  void take_usage(const boost::json::object& usage) {
    answer.prompt_tokens = count_at(usage, "prompt_tokens");
    answer.tokens = count_at(usage, "completion_tokens");
    if (const boost::json::object* details = object_at(usage, "prompt_tokens_details")) {
      answer.cached_tokens = count_at(*details, "cached_tokens");
    }
  }

  void take_choice(const boost::json::object& choice) {
    if (std::string finish = string_at(choice, "finish_reason"); !finish.empty()) {
      answer.finish = finish;
    }
    const boost::json::object* delta = object_at(choice, "delta");
    if (delta == nullptr) return;
    std::string thinking = string_at(*delta, "reasoning_content");
    if (thinking.empty()) thinking = string_at(*delta, "reasoning");
    give(true, thinking);
    give(false, string_at(*delta, "content"));
  }

  void give(bool thinking, const std::string& piece) {
    if (piece.empty()) return;
    if (!first) first = steady_seconds();
    (thinking ? answer.thinking : answer.text) += piece;
    (*on_piece)(thinking, piece);
  }
};

ChatClient::ChatClient(const TerminalSignals& signals)
    : signals_(signals), multi_(curl_multi_init()) {
  if (!multi_) throw std::bad_alloc();
}

size_t ChatClient::take_bytes(char* bytes, size_t size, size_t count, void* target) {
  Transfer& transfer = *static_cast<Transfer*>(target);
  try {
    transfer.take({bytes, size * count});
  } catch (...) {
    // No exception may pass through libcurl.
    transfer.thrown = std::current_exception();
    return CURL_WRITEFUNC_ERROR;
  }
  return size * count;
}

void ChatClient::run(Transfer& transfer, const ChatEndpoint& endpoint, const OnSignal& on_signal) {
  transfer.handle = &handle_;
  transfer.request.fields = {"Content-Type: application/json"};
  if (!endpoint.key.empty()) {
    transfer.request.fields.push_back("Authorization: Bearer " + endpoint.key);
  }
  handle_.prepare(transfer.request);
  handle_.set(CURLOPT_WRITEFUNCTION, take_bytes);
  handle_.set(CURLOPT_WRITEDATA, &transfer);
  handle_.set(CURLOPT_CONNECTTIMEOUT_MS, kConnectMilliseconds);
  handle_.set(CURLOPT_TCP_KEEPALIVE, 1L);
  if (is_this_machine(transfer.request.url)) handle_.set(CURLOPT_PROXY, "");
  CURLM* multi = multi_.get();
  curl_multi_add_handle(multi, handle_.get());
  auto remove = [this](CURLM* of) { curl_multi_remove_handle(of, handle_.get()); };
  std::unique_ptr<CURLM, decltype(remove)> remover(multi, remove);
  for (int running = 1; running > 0 && !transfer.done && !transfer.answer.stopped;) {
    curl_multi_perform(multi, &running);
    if (running == 0 || transfer.done) break;
    curl_waitfd signals{signals_.fd(), CURL_WAIT_POLLIN, 0};
    curl_multi_poll(multi, &signals, 1, kPollMilliseconds, nullptr);
    for (int signal = signals_.next(); signal != 0; signal = signals_.next()) {
      if (on_signal(signal)) transfer.answer.stopped = true;
    }
  }
  if (transfer.thrown) std::rethrow_exception(transfer.thrown);
  int left = 0;
  const CURLMsg* message = curl_multi_info_read(multi, &left);
  if (message != nullptr && message->data.result != CURLE_OK) {
    transfer.answer.problem =
        "no reply: " + printable(handle_.problem(message->data.result), kShownBody);
  }
}

ChatAnswer ChatClient::ask(const ChatEndpoint& endpoint, const std::string& body,
                           const OnPiece& on_piece, const OnSignal& on_signal) {
  Transfer transfer{.request = {endpoint.url + "/chat/completions", {}, body},
                    .on_piece = &on_piece};
  ChatAnswer& answer = transfer.answer;
  try {
    run(transfer, endpoint, on_signal);
  } catch (const Error& error) {
    answer.problem = printable(error.what(), kShownError);
  }
  const double end = steady_seconds();
  answer.first_seconds = transfer.first.value_or(end) - transfer.start;
  answer.seconds = end - transfer.first.value_or(end);
  if (answer.stopped || !answer.problem.empty()) return answer;
  if (handle_.status() != 200) {
    answer.problem = refusal(handle_.status(), transfer.body);
  } else if (!transfer.done && answer.finish.empty()) {
    answer.problem = "the connection ended in the middle of the answer";
  }
  return answer;
}

std::vector<std::string> ChatClient::models(const ChatEndpoint& endpoint,
                                            const OnSignal& on_signal) {
  Transfer transfer{.request = {endpoint.url + "/models"}};
  run(transfer, endpoint, on_signal);
  std::string problem = transfer.answer.problem;
  if (problem.empty() && !transfer.answer.stopped && handle_.status() != 200) {
    problem = refusal(handle_.status(), transfer.body);
  }
  if (!problem.empty()) fail(ErrorCode::kResource, "{}: {}", endpoint.url, problem);
  std::vector<std::string> names;
  if (transfer.answer.stopped) return names;
  const boost::json::value value = read_json(transfer.body);
  const boost::json::object* object = value.if_object();
  const boost::json::value* data = object == nullptr ? nullptr : object->if_contains("data");
  if (data == nullptr || !data->is_array()) {
    fail(ErrorCode::kResource,
         "{}/models did not answer with a list of models: check that it is a server with OpenAI's "
         "API",
         endpoint.url);
  }
  for (const boost::json::value& entry : data->get_array()) {
    if (entry.is_object()) names.push_back(string_at(entry.get_object(), "id"));
  }
  return names;
}

}  // namespace hearth
