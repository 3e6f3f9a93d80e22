// Tests of the server where memory runs out. Each allocation of a request fails in turn, on any of
// the server's threads: only that one, or that one and all later ones until the request has ended.
// The process goes on, and the request is answered or its connection ends. The next request finds
// all places free. The program is linked so that realloc() is the function below.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "embed/sim_device.h"
#include "formats/gguf.h"
#include "replaced_new.h"
#include "server/app.h"
#include "server/sampling_defaults.h"
#include "tiny_engine.h"
#include "tokenizer/test_vocab.h"

namespace hearth {
namespace {

// Says which allocations fail: `failing` of them, after a number of others, on all threads except
// the client's. If `failing` is 0, none fails.
struct Shortage {
  mutable std::atomic<std::thread::id> client{};
  mutable std::atomic<uint64_t> allocations{0}, failing{0}, count{1};
};

const Shortage& shortage() {
  static const Shortage kShortage;
  return kShortage;
}

bool falls_short() {
  const Shortage& now = shortage();
  const uint64_t failing = now.failing;
  if (failing == 0 || now.client.load() == std::this_thread::get_id()) return false;
  const uint64_t at = ++now.allocations;
  return at >= failing && at - failing < now.count;
}

}  // namespace

bool may_allocate() { return !falls_short(); }

}  // namespace hearth

extern "C" {
void* __real_realloc(void* old, size_t bytes);  // NOLINT: the linker's name
void* __wrap_realloc(void* old, size_t bytes);  // NOLINT

// NOLINTNEXTLINE
void* __wrap_realloc(void* old, size_t bytes) {
  return hearth::may_allocate() ? __real_realloc(old, bytes) : nullptr;
}
}

namespace hearth {
namespace {

#if defined(HEARTH_FEW_ROUNDS)
constexpr uint64_t kStride = 17;
#else
constexpr uint64_t kStride = 1;
#endif

constexpr uint32_t kTokens = 260, kContext = 192, kWidth = 8;

Vocab vocab() {
  Vocab vocab = bpe_vocab({});
  add_words(vocab, kTokens);
  return vocab;
}

// The options have room for only one of the requests below, so that the next request fails if
// anything leaks.
AppOptions app_options() {
  AppOptions options;
  options.http.port = 0;
  options.http.connections = 2;
  options.http.body_bytes = options.http.all_body_bytes = 1 << 10;
  options.http.linger_seconds = 0;
  options.embeddings = true;
  options.completions.max_running = 2;
  options.completions.max_queue = 0;
  options.embedding_limits.memory_bytes = 1 << 10;
  options.log = RequestLog::Form::kNone;
  return options;
}

EngineOptions engine_options() {
  EngineOptions options;
  options.threads = 1;
  options.context = kContext;
  options.kv_pages = 3;
  options.prefill_rows = 64;
  return options;
}

// The app with a model and a device for embeddings.
class Served {
 public:
  Served() {
    reactor_ = std::thread([this] { app_.run(); });
    app_.serve({.text = &text_, .embedder = &embedder_});
  }
  ~Served() {
    app_.stop();
    reactor_.join();
  }
  uint16_t port() const { return app_.port(); }
  const App& app() const { return app_; }
  const QueueManager& queues() const { return queues_; }
  const Statistics& statistics() const { return service_.statistics(); }

 private:
  static std::vector<DeviceQueue> device(SteadyClock& clock) {
    SimOptions options{.alpha = 0, .beta = 0, .width = kWidth};
    std::vector<DeviceQueue> queues(1);
    queues[0].device = std::make_unique<SimDevice>("sim", DeviceKind::kCpu, options, clock);
    queues[0].slots = 64;
    return queues;
  }
  static ModelSource model() {
    TinyShape shape = kTiniest;
    shape.layers = 1;
    shape.vocabulary = kTokens;
    return parse_gguf(tiny_llama(shape), "tiny");
  }

  ModelSource file_ = model();
  std::unique_ptr<Tokenizer> tokenizer_ = Tokenizer::from_vocab(vocab());
  ChatPrompt chat_{file_, *tokenizer_, {}};
  Service service_{[this] { return tiny_engine(file_, engine_options()); }, tokenizer_.get(), {}};
  ServiceBackend backend_{service_, *tokenizer_};
  ServedModel text_{"text", 0, "fp", [](Json&) {}, backend_, chat_, openai_sampling()};
  App app_{app_options()};
  SteadyClock clock_;
  QueueManager queues_{device(clock_), {.admission = Admission::kDepth}, clock_};
  ServedEmbedder embedder_{"vectors", 0, [](Json&) {}, *tokenizer_, kContext, queues_};
  std::thread reactor_;
};

// Returns the server's whole reply to one request on a connection of its own.
std::string ask(uint16_t port, const std::string& request) {
  int client = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::string said;
  if (connect(client, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0 &&
      send(client, request.data(), request.size(), MSG_NOSIGNAL) ==
          static_cast<ssize_t>(request.size())) {
    char bytes[4096];
    for (ssize_t got; (got = recv(client, bytes, sizeof(bytes), 0)) > 0;) said.append(bytes, got);
  }
  close(client);
  return said;
}

std::string post(const char* path, const std::string& body) {
  return fmt::format(
      "POST {} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{}",
      path, body.size(), body);
}

bool is_good(const std::string& said) {
  return said.starts_with("HTTP/1.1 200 ") && said.find("\"error\"") == std::string::npos;
}

class ServerShortageTest : public testing::Test {
 protected:
  ~ServerShortageTest() override { shortage().failing = 0; }

  // Repeats the request until it is served, since the last request's memory may be given back
  // later.
  void expect_served(const std::string& request, uint64_t failing) {
    constexpr auto kGiveUp = std::chrono::seconds(60);
    auto until = std::chrono::steady_clock::now() + kGiveUp;
    std::string said;
    while (std::chrono::steady_clock::now() < until) {
      said = ask(served_.port(), request);
      if (is_good(said)) return;
      std::this_thread::yield();
    }
    FAIL() << "after allocation " << failing << ": " << said;
  }
  // `end` is the end of a whole answer.
  void sweep(const std::string& request, const std::string& end, uint64_t least) {
    shortage().client = std::this_thread::get_id();
    expect_served(request, 0);
    sweep_by(1, request, end, least);
    sweep_by(UINT64_MAX, request, end, least);
  }
  void sweep_by(uint64_t count, const std::string& request, const std::string& end,
                uint64_t least) {
    const Shortage& now = shortage();
    now.count = count;
    uint64_t failing = 1, told = 0, closed = 0;
    for (bool failed = true; failed; failing += kStride) {
      now.allocations = 0;
      now.failing = failing;
      std::string said = ask(served_.port(), request);
      failed = now.allocations >= failing;
      now.failing = 0;
      bool whole = is_good(said) && said.find(end) != std::string::npos;
      bool short_of_memory = said.find("\"no_memory\"") != std::string::npos;
      told += short_of_memory;
      closed += !whole && !short_of_memory;
      EXPECT_TRUE(whole || failed) << said;
      // A client can see that a reply was broken off.
      EXPECT_TRUE(whole || short_of_memory || said.find(end) == std::string::npos) << said;
      expect_served(request, failing);
      ASSERT_FALSE(HasFailure()) << "at allocation " << failing;
    }
    EXPECT_GT(failing, least);
    EXPECT_GT(count == 1 ? told : closed, 0u);
  }

  Served served_;
};

TEST_F(ServerShortageTest, Text) {
  sweep(post("/v1/completions", R"({"prompt":"hello","n":2,"max_tokens":3,"logprobs":2})"),
        "\"total_tokens\"", 100);
}

TEST_F(ServerShortageTest, Events) {
  sweep(post("/v1/completions", R"({"prompt":"hello","n":2,"max_tokens":3,"stream":true})"),
        "data: [DONE]", 100);
}

TEST_F(ServerShortageTest, Embeddings) {
  sweep(post("/v1/embeddings", R"({"input":["one","two","three"]})"), "\"total_tokens\"", 100);
  EXPECT_TRUE(served_.queues().statistics()[0].up);
}

TEST_F(ServerShortageTest, Tokens) { sweep(post("/tokenize", R"({"content":"hello"})"), "]", 20); }

TEST_F(ServerShortageTest, Figures) {
  sweep("GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        "hearth_embed_busy_seconds_total{", 20);
}

}  // namespace
}  // namespace hearth
