// A server for raw_test.py. Some replies wait for other requests, some streams are fed by other
// requests, and requests can ask about other clients. Everything happens on the reactor's thread.
//
//   http_stub [key=value...]   prints its port and ends with its standard input
//
// The keys are HttpOptions' (header_seconds=0.2), and descriptors=N for RLIMIT_NOFILE.
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.h"
#include "http/api_error.h"
#include "http/server.h"

namespace hearth {
namespace {

HttpReply text_reply(std::string text) {
  HttpReply reply;
  reply.content_type = "text/plain";
  reply.body = std::move(text);
  return reply;
}

class Stub {
 public:
  explicit Stub(const HttpOptions& options)
      : server_(options, &Stub::check,
                [this](std::shared_ptr<Exchange> exchange) { handle(std::move(exchange)); }) {}

  HttpServer& server() { return server_; }

 private:
  using Call = void (Stub::*)(const std::shared_ptr<Exchange>&, const std::string& name);

  static std::optional<HttpReply> check(const HttpRequest& head) {
    if (head.path == "/forbidden") {
      ApiError error;
      error.status = 403;
      error.code = "forbidden";
      error.message = "No.";
      return error_reply(error);
    }
    if (head.path == "/check-throws") throw std::runtime_error("the check");
    return std::nullopt;
  }

  void handle(std::shared_ptr<Exchange> exchange) {
    static const std::map<std::string, Call, std::less<>> kCalls = {
        {"hello", &Stub::hello},     {"echo", &Stub::echo},     {"target", &Stub::target},
        {"fields", &Stub::fields},   {"wait", &Stub::wait},     {"release", &Stub::release},
        {"events", &Stub::events},   {"send", &Stub::send},     {"end", &Stub::end},
        {"flood", &Stub::flood},     {"heap", &Stub::heap},     {"heard", &Stub::heard},
        {"throw", &Stub::throws},    {"drop", &Stub::drop},     {"drop-events", &Stub::drop_events},
        {"thread", &Stub::thread},   {"status", &Stub::status}, {"drain", &Stub::drain},
        {"stop", &Stub::stop},       {"empty", &Stub::empty},   {"large", &Stub::large},
        {"waiting", &Stub::waiting}, {"hog", &Stub::hog},       {"unhog", &Stub::unhog},
        {"lines", &Stub::lines},
    };
    const std::string& path = exchange->request().path;
    size_t slash = std::min(path.find('/', 1), path.size());
    auto found = kCalls.find(path.substr(1, slash - 1));
    if (found == kCalls.end()) return exchange->reply(text_reply("path " + path));
    (this->*found->second)(exchange, path.substr(std::min(slash + 1, path.size())));
  }

  void hello(const std::shared_ptr<Exchange>& exchange, const std::string& name) {
    exchange->reply(text_reply("hello " + name));
  }
  void echo(const std::shared_ptr<Exchange>& exchange, const std::string&) {
    exchange->reply(text_reply(exchange->take_body()));
  }
  void target(const std::shared_ptr<Exchange>& exchange, const std::string&) {
    const HttpRequest& request = exchange->request();
    exchange->reply(text_reply(request.method + " " + request.path + " " + request.query));
  }
  void fields(const std::shared_ptr<Exchange>& exchange, const std::string&) {
    std::string text;
    for (const auto& [key, value] : exchange->request().fields) text += key + "=" + value + "\n";
    HttpReply reply = text_reply(text);
    reply.fields.emplace_back("X-Split", "one\r\nX-Injected: two");
    exchange->reply(std::move(reply));
  }
  void empty(const std::shared_ptr<Exchange>& exchange, const std::string&) {
    HttpReply reply;
    reply.status = 204;
    exchange->reply(std::move(reply));
  }
  void large(const std::shared_ptr<Exchange>& exchange, const std::string& bytes) {
    exchange->reply(text_reply(std::string(std::stoul(bytes), 'x')));
  }

  // Keeps the request open until another one for /release/NAME answers it.
  void wait(const std::shared_ptr<Exchange>& exchange, const std::string& name) {
    open_[name] = exchange;
    exchange->on_gone([this, name] { happened("gone-" + name); });
    happened("begun-" + name);
  }
  void release(const std::shared_ptr<Exchange>& exchange, const std::string& name) {
    auto waits = open_.extract(name);
    if (waits) waits.mapped()->reply(text_reply("released " + name));
    exchange->reply(text_reply(waits ? "yes" : "no"));
  }

  void events(const std::shared_ptr<Exchange>& exchange, const std::string& name) {
    open_[name] = exchange;
    exchange->on_gone([this, name] { happened("gone-" + name); });
    exchange->begin_events({{"X-Stream", name}});
    exchange->send("data: first\n\n");
    happened("begun-" + name);
  }
  // Begins a stream of lines of JSON.
  void lines(const std::shared_ptr<Exchange>& exchange, const std::string& name) {
    open_[name] = exchange;
    exchange->begin_events();
    exchange->send("{}\n");
    happened("begun-" + name);
  }
  void send(const std::shared_ptr<Exchange>& exchange, const std::string& name) {
    auto found = open_.find(name);
    if (found != open_.end()) found->second->send(exchange->take_body());
    exchange->reply(text_reply("sent"));
  }
  void end(const std::shared_ptr<Exchange>& exchange, const std::string& name) {
    if (auto found = open_.extract(name)) found.mapped()->end();
    exchange->reply(text_reply("ended"));
  }

  // Sends endless events, each when the one before was sent.
  void flood(const std::shared_ptr<Exchange>& exchange, const std::string& name) {
    std::string event = "data: " + std::string(64 << 10, 'x') + "\n\n";
    exchange->on_gone([this, name, exchange] { happened("gone-" + name); });
    exchange->on_drained([exchange, event] { exchange->send(event); });
    exchange->begin_events();
    exchange->send(event);
  }
  // Sends many events at once, whether the client reads or not.
  void heap(const std::shared_ptr<Exchange>& exchange, const std::string& name) {
    exchange->on_gone([this, name] { happened("gone-" + name); });
    exchange->begin_events();
    std::string event = "data: " + std::string(1 << 10, 'x') + "\n\n";
    for (int i = 0; i < 16 << 10; ++i) exchange->send(event);
    exchange->end();
  }

  // Answers once the event of this name has happened: "gone-NAME" or "begun-NAME", with the name of
  // another request.
  void heard(const std::shared_ptr<Exchange>& exchange, const std::string& name) {
    if (events_[name] > 0) {
      exchange->reply(text_reply(name));
    } else {
      asks_[name].push_back(exchange);
    }
  }
  void happened(const std::string& what) {
    ++events_[what];
    for (const auto& exchange : asks_[what]) exchange->reply(text_reply(what));
    asks_.erase(what);
  }

  void throws(const std::shared_ptr<Exchange>&, const std::string&) {
    throw std::runtime_error("the handler");
  }
  void drop(const std::shared_ptr<Exchange>&, const std::string&) {}
  void drop_events(const std::shared_ptr<Exchange>& exchange, const std::string&) {
    exchange->begin_events();
  }
  // Sends the events one by one from another thread.
  void thread(const std::shared_ptr<Exchange>& exchange, const std::string& count) {
    std::thread([exchange, n = std::stoi(count)] {
      exchange->begin_events();
      for (int i = 0; i < n; ++i) exchange->send(fmt::format("data: {}\n\n", i));
      exchange->end();
    }).detach();
  }

  void status(const std::shared_ptr<Exchange>& exchange, const std::string&) {
    exchange->reply(text_reply(fmt::format("{} {} {}", server_.connections(), server_.exchanges(),
                                           server_.connection_limit())));
  }
  // Answers once there are at most `most` connections.
  void waiting(const std::shared_ptr<Exchange>& exchange, const std::string& most) {
    if (server_.connections() <= std::stoul(most)) return exchange->reply(text_reply(most));
    server_.after(0.01, [this, exchange, most] { waiting(exchange, most); });
  }
  // Takes every descriptor that is left; unhog() gives them back.
  void hog(const std::shared_ptr<Exchange>& exchange, const std::string&) {
    for (int taken = dup(0); taken >= 0; taken = dup(0)) hogged_.push_back(taken);
    exchange->reply(text_reply(std::to_string(hogged_.size())));
  }
  void unhog(const std::shared_ptr<Exchange>& exchange, const std::string&) {
    for (int taken : hogged_) close(taken);
    hogged_.clear();
    exchange->reply(text_reply("free"));
  }
  void drain(const std::shared_ptr<Exchange>& exchange, const std::string&) {
    server_.drain();
    server_.post([exchange] { exchange->reply(text_reply("draining")); });
  }
  void stop(const std::shared_ptr<Exchange>& exchange, const std::string&) {
    server_.stop();
    exchange->reply(text_reply("stopping"));
  }

  // The server is destroyed first, and tells the waiting exchanges that their clients are gone.
  std::map<std::string, std::shared_ptr<Exchange>> open_;
  std::map<std::string, int> events_;
  std::vector<int> hogged_;
  std::map<std::string, std::vector<std::shared_ptr<Exchange>>> asks_;
  HttpServer server_;
};

void set_descriptors(rlim_t count) {
  rlimit limit{count, count};
  HEARTH_CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0, "the limit can be set");
}

bool set_option(HttpOptions& options, const std::string& key, double value) {
  const std::map<std::string, double*> seconds = {
      {"header_seconds", &options.header_seconds},   {"body_seconds", &options.body_seconds},
      {"idle_seconds", &options.idle_seconds},       {"write_seconds", &options.write_seconds},
      {"silence_seconds", &options.silence_seconds}, {"linger_seconds", &options.linger_seconds}};
  const std::map<std::string, uint32_t*> counts = {
      {"connections", &options.connections},
      {"address_connections", &options.address_connections},
      {"header_bytes", &options.header_bytes},
      {"header_fields", &options.header_fields}};
  const std::map<std::string, uint64_t*> sizes = {{"body_bytes", &options.body_bytes},
                                                  {"all_body_bytes", &options.all_body_bytes},
                                                  {"write_bytes", &options.write_bytes}};
  if (auto found = seconds.find(key); found != seconds.end()) {
    *found->second = value;
  } else if (auto count = counts.find(key); count != counts.end()) {
    *count->second = static_cast<uint32_t>(value);
  } else if (auto size = sizes.find(key); size != sizes.end()) {
    *size->second = static_cast<uint64_t>(value);
  } else {
    return false;
  }
  return true;
}

int run(int argc, char** argv) {
  HttpOptions options;
  options.port = 0;
  options.lines_below = "/lines/";
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    size_t equals = word.find('=');
    HEARTH_CHECK(equals != std::string::npos, "an option is key=value");
    std::string key = word.substr(0, equals), value = word.substr(equals + 1);
    if (key == "host") {
      options.host = value;
    } else if (key == "descriptors") {
      set_descriptors(std::stoul(value));
    } else {
      HEARTH_CHECK(set_option(options, key, std::stod(value)), "that option is known");
    }
  }
  Stub stub(options);
  std::printf("%d\n", stub.server().port());
  std::fflush(stdout);
  std::thread watch([&stub] {
    while (std::getchar() != EOF) {
    }
    stub.server().stop();
  });
  stub.server().run();
  std::printf("end\n");
  std::fflush(stdout);
  watch.join();
  return 0;
}

}  // namespace
}  // namespace hearth

int main(int argc, char** argv) { return hearth::run(argc, argv); }
