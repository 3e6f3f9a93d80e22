// embed_stub [PORT [both share]]: the server with a device for embeddings that computes next to
// nothing. Its vectors depend only on the ids (embed/sim_device.h). A text with "hold" delays its
// batch until standard input has a line or ends; "refuse", "fail" and "throw" act as named. With
// `both` it also serves text, by an engine that accepts nothing; with `share` clients share the
// queue.
#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <thread>

#include "base/error.h"
#include "cli/termination.h"
#include "embed/sim_device.h"
#include "engine/open_model.h"
#include "server/app.h"
#include "server/sampling_defaults.h"

namespace hearth {
namespace {

constexpr uint32_t kWidth = 16, kContext = 64;
constexpr uint64_t kSlots = 200, kBatch = 100;

class GatedDevice : public EmbedDevice {
 public:
  const std::string& name() const override { return name_; }
  DeviceKind kind() const override { return DeviceKind::kCpu; }
  uint32_t width() const override { return kWidth; }

  std::vector<EmbedVector> run(std::span<const EmbedQuery* const> batch) override {
    std::vector<EmbedVector> vectors;
    for (const EmbedQuery* query : batch) {
      auto says = [&](std::string_view word) {
        return query->text.find(word) != std::string::npos;
      };
      if (says("hold")) std::getchar();
      if (says("refuse")) fail(ErrorCode::kRequest, "the stub was told to refuse");
      if (says("fail")) fail(ErrorCode::kResource, "the stub was told to fail");
      if (says("throw")) throw std::runtime_error("the stub was told to throw");
      vectors.push_back(simulated_vector({{}, query->tokens}, kWidth));
    }
    return vectors;
  }

 private:
  const std::string name_ = "gated";
};

// A backend that accepts no request for text.
class NoBackend : public Backend {
 public:
  explicit NoBackend(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  const Tokenizer& tokenizer() const override { return tokenizer_; }
  uint32_t context() const override { return kContext; }
  const Statistics& statistics() const override { return statistics_; }
  JobHandle submit(Request, std::shared_ptr<ResultStream>) override {
    fail(ErrorCode::kBusy, "the stub takes nothing");
  }

 private:
  const Tokenizer& tokenizer_;
  Statistics statistics_;
};

int serve(uint16_t port, bool both, bool share) {
  std::signal(SIGPIPE, SIG_IGN);
  OpenedModel model = open_model({.path = find_demo_model().string(), .pre = {}});
  AppOptions options;
  options.http.port = port;
  options.text = both;
  options.embeddings = true;
  options.embedding_limits.inputs = 64;
  App app(options);
  std::thread reactor([&] { app.run(); });
  ChatPrompt chat(model.source, *model.tokenizer, {});
  NoBackend backend(*model.tokenizer);
  ServedModel text{
      "stub",  0,    "fp_stub",        [](Json& json) { json.key("model").text("stub"); },
      backend, chat, openai_sampling()};
  SteadyClock clock;
  std::vector<DeviceQueue> queues(1);
  queues[0].device = std::make_unique<GatedDevice>();
  queues[0].slots = kSlots;
  queues[0].batch = kBatch;
  {
    QueueManager manager(std::move(queues), {.admission = Admission::kDepth}, clock);
    ServedEmbedder embedder{"vectors",
                            7,
                            [](Json& json) { json.key("devices").array().end_array(); },
                            *model.tokenizer,
                            kContext,
                            manager,
                            share};
    Termination termination;
    app.serve({.text = both ? &text : nullptr, .embedder = &embedder});
    fmt::print(stderr, "hearth: serving stub at http://127.0.0.1:{}/\n", app.port());
    termination.wait();
    app.drain();
    reactor.join();
  }
  return 0;
}

}  // namespace
}  // namespace hearth

int main(int argc, char** argv) {
  return hearth::serve(static_cast<uint16_t>(argc > 1 ? std::atoi(argv[1]) : 0),
                       argc > 2 && argv[2] == std::string_view("both"),
                       argc > 2 && argv[2] == std::string_view("share"));
}
