#include "cli/chat_model.h"

#include <fmt/format.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <memory>
#include <optional>
#include <random>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/printable.h"
#include "cli/field_options.h"
#include "cli/interrupts.h"
#include "cli/load.h"
#include "cli/model_names.h"
#include "cli/serve_text.h"
#include "cli/text_io.h"
#include "server/app.h"
#include "store/hub_name.h"
#include "talk/talk.h"
#include "topology/machine.h"

namespace hearth {
namespace {

// Limits on a request, so high that only the model's context limits a chat.
constexpr uint64_t kChatBodyBytes = uint64_t{1} << 30;
constexpr uint32_t kChatMessages = 1u << 20;

std::string random_key() {
  std::random_device random;
  std::string key;
  for (int i = 0; i < 8; ++i) key += fmt::format("{:08x}", random());
  return key;
}

ServeArgs local_args(ServeArgs args) {
  args.quiet = true;
  args.no_log = true;
  args.port = 0;
  args.app.http.host = "127.0.0.1";
  args.app.http.body_bytes = args.app.http.all_body_bytes = kChatBodyBytes;
  args.app.completions.limits.messages = kChatMessages;
  args.app.completions.max_running = 1;
  return args;
}

// Runs `call` in another thread, while this one watches for Ctrl-C, which ends the process.
template <typename Call>
void call_beside(const TerminalSignals& signals, const Call& call) {
  std::future<void> done = std::async(std::launch::async, call);
  while (done.wait_for(kLookUp) != std::future_status::ready) {
    for (int signal = signals.next(); signal != 0; signal = signals.next()) {
      if (signal == SIGINT || TerminalSignals::ends(signal)) TerminalSignals::die_of(signal);
      if (signal == SIGTSTP) TerminalSignals::stop_process();
    }
  }
  done.get();
}

// A model that this process serves only to itself.
class HostedModel {
 public:
  // Throws at once for what cannot be served: an invalid file, a model without a chat template.
  explicit HostedModel(const ServeArgs& serve)
      : args_(local_args(serve)),
        machine_(Machine::live()),
        text_(args_, machine_,
              open_named_model(args_.model, args_.pre, args_.engine, TokenizerUse::kNeeded,
                               ModelUse::kText)) {
    if (text_.chats()) return;
    fail(ErrorCode::kUsage, "'{}' has no chat template: give one with --chat-template FILE",
         text_.path());
  }
  // Stops the server, and waits until the work of a cancelled request has ended.
  ~HostedModel() { stop(); }
  HostedModel(const HostedModel&) = delete;
  HostedModel& operator=(const HostedModel&) = delete;

  // Loads the model and starts the server; returns its address. This takes seconds or minutes.
  ChatEndpoint load() {
    AppOptions options = settle_app(args_);
    const std::string key = random_key();
    options.keys = {key};
    const std::string name = std::filesystem::path(text_.path()).stem().string();
    text_.load(name, {});
    app_.emplace(options);
    reactor_ = std::thread([this] { app_->run(); });
    app_->pin(text_.spare_pus());
    app_->serve({.text = &text_.served()});
    return {fmt::format("http://127.0.0.1:{}/v1", app_->port()), key, name};
  }

  // Stops the server at the end of the process, without waiting for a request that hangs: all text
  // is on the screen already.
  void leave() {
    stop();
    if (app_ && !app_->settled()) std::_Exit(0);
  }

 private:
  void stop() {
    if (!reactor_.joinable()) return;
    app_->stop();
    reactor_.join();
  }

  const ServeArgs args_;
  const Machine machine_;
  ServedText text_;
  std::optional<App> app_;
  std::thread reactor_;
};

// The model loaded here; the user can replace it by another model during a chat.
class LocalModels {
 public:
  LocalModels(const TerminalSignals& signals, ServeArgs args)
      : signals_(signals), args_(std::move(args)) {}

  ~LocalModels() {
    if (model_) model_->leave();
  }
  LocalModels(const LocalModels&) = delete;
  LocalModels& operator=(const LocalModels&) = delete;

  // Replaces the model. If the new model cannot be loaded, loads the former one again and throws.
  // If that fails, too, no model is loaded.
  void take(const std::string& name, ChatEndpoint* endpoint) {
    ServeArgs args = args_;
    args.model = find_named_model(name).path;
    call_beside(signals_, [&] {
      auto next = std::make_unique<HostedModel>(args);
      // The old model is freed first, since both may not fit into memory together.
      model_.reset();
      try {
        load(std::move(next), endpoint);
        taken_ = args;
      } catch (const std::exception& error) {
        if (!taken_) throw;
        const auto* own = dynamic_cast<const Error*>(&error);
        const std::string what = own != nullptr ? command_line_text(*own) : error.what();
        const char* lost =
            restore(endpoint) ? "" : "; the previous model cannot be loaded again either";
        fail(ErrorCode::kResource, "cannot switch to '{}': {}{}", args.model, what, lost);
      }
    });
  }

 private:
  bool restore(ChatEndpoint* endpoint) {
    try {
      load(std::make_unique<HostedModel>(*taken_), endpoint);
      return true;
    } catch (const std::exception&) {
      return false;
    }
  }

  void load(std::unique_ptr<HostedModel> model, ChatEndpoint* endpoint) {
    *endpoint = model->load();
    model_ = std::move(model);
  }

  const TerminalSignals& signals_;
  const ServeArgs args_;
  std::optional<ServeArgs> taken_;  // the options of the loaded model
  std::unique_ptr<HostedModel> model_;
};

ChatEndpoint remote_endpoint(const ChatArgs& args, const TerminalSignals& signals) {
  ChatEndpoint endpoint{endpoint_url(args.serve.model)};
  if (args.serve.key_file) endpoint.key = read_key(*args.serve.key_file);
  if (args.server_model) {
    endpoint.model = *args.server_model;
    return endpoint;
  }
  ChatClient client(signals);
  std::vector<std::string> names = client.models(endpoint, [](int signal) {
    if (signal == SIGINT || TerminalSignals::ends(signal)) TerminalSignals::die_of(signal);
    return false;
  });
  if (names.empty()) {
    fail(ErrorCode::kResource, "the server at {} lists no model: name one with --model",
         endpoint.url);
  }
  endpoint.model = names[0];
  return endpoint;
}

std::string greeting(const ChatArgs& args, const ChatEndpoint& endpoint) {
  std::string text =
      fmt::format("Chat with {}; /help lists commands, Ctrl-D ends.", printable(endpoint.model));
  if (args.serve.model.empty()) {
    text +=
        "\nThe demo model tells stories of 32 animals and knows little else. Try: Tell me a "
        "story about a fox and a kite.";
  }
  return text;
}

}  // namespace

bool names_server(const std::string& model) {
  return model.find("://") != std::string::npos && !find_hub_name(model);
}

int chat_with(ChatArgs args) {
  const bool elsewhere = names_server(args.serve.model);
  if (!elsewhere) args.serve.model = fetch_named_model(args.serve.model, args.serve.offline).path;
  // A server that closes its connection must not end the chat.
  std::signal(SIGPIPE, SIG_IGN);
  TerminalSignals signals;
  LocalModels models(signals, args.serve);
  TalkOptions options;
  if (elsewhere) {
    options.endpoint = remote_endpoint(args, signals);
    options.take_model = [](const std::string& name, ChatEndpoint* endpoint) {
      endpoint->model = name;
    };
  } else {
    models.take(args.serve.model, &options.endpoint);
    options.take_model = [&models](const std::string& name, ChatEndpoint* endpoint) {
      models.take(name, endpoint);
    };
  }
  options.system = args.system.value_or("");
  options.greeting = greeting(args, options.endpoint);
  options.keep_history = !args.no_history;
  options.write = [](std::string_view text) { write_stdout(text); };
  return Talk(signals, std::move(options)).run();
}

}  // namespace hearth
