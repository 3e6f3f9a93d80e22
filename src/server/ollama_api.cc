#include "server/ollama_api.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <utility>

#include "http/reader.h"
#include "server/exception_error.h"
#include "server/json_fields.h"
#include "server/json_values.h"
#include "server/ollama_reply.h"
#include "server/ollama_stock.h"
#include "server/reply_pieces.h"

namespace hearth {
namespace {

// The expiry time shown for a model that stays loaded.
constexpr std::string_view kNeverExpires = "9999-12-31T23:59:59Z";

class OllamaApi final : public TextApi {
 public:
  explicit OllamaApi(OllamaRoute route) : route_(route) {}

  CompletionCall read(std::string_view body, const SamplingParams& defaults,
                      const RequestLimits& limits, uint32_t vocabulary) override {
    const OllamaBody asked = read_ollama_body(body, route_, limits);
    names_ = asked.names;
    asked_ = asked.asks_nothing ? OllamaAsked::kToLoad : OllamaAsked::kText;
    CompletionCall call = read_ollama_call(asked, defaults, limits, vocabulary);
    calls_ = !call.turn.tools.empty();
    return call;
  }
  std::unique_ptr<ReplyForm> reply(ReplyStart start, const CompletionCall& call) override {
    return std::make_unique<OllamaReply>(
        OllamaReplyHead{.route = route_,
                        .model = call.model.empty() ? std::move(start.model) : call.model,
                        .asked = asked_,
                        .logprobs = call.request.logprobs,
                        .calls = calls_});
  }
  bool names(std::string_view asked, std::string_view own) const override {
    return ollama_names(asked, own);
  }
  ApiError named(ApiError error) const override { return names_.translated(std::move(error)); }

 private:
  const OllamaRoute route_;
  OllamaNames names_;
  OllamaAsked asked_ = OllamaAsked::kText;
  bool calls_ = false;
};

void write_details(Json& json, const ModelFacts& facts) {
  json.key("details").object().key("parent_model").text("").key("format").text(facts.format);
  json.key("family").text(facts.architecture).key("families").array();
  json.text(facts.architecture).end_array().key("parameter_size").text(facts.parameters);
  json.key("quantization_level").text(facts.quantization).end_object();
}

// Begins a model's object with the members that /api/tags and /api/ps share.
void begin_listed(Json& json, const OllamaModel& model, uint64_t bytes) {
  const std::string name = tagged_name(model.name);
  json.object().key("name").text(name).key("model").text(name).key("size").number(bytes);
  json.key("digest").text(model.facts->digest);
  write_details(json, *model.facts);
}

std::string parameters_text(const SamplingParams& sampling) {
  return fmt::format("temperature {}\ntop_k {}\ntop_p {}\nmin_p {}\nrepeat_penalty {}",
                     sampling.temperature, sampling.top_k, sampling.top_p, sampling.min_p,
                     sampling.repeat_penalty);
}

}  // namespace

std::unique_ptr<TextApi> ollama_api(OllamaRoute route) {
  return std::make_unique<OllamaApi>(route);
}

OllamaModel ollama_model(const ServedModel& model) {
  OllamaModel shown{.name = model.name,
                    .created = model.created,
                    .context = model.backend.context(),
                    .facts = &model.facts,
                    .capabilities = {"completion"},
                    .sampling = &model.sampling};
  if (model.turns != nullptr && model.turns->calls_tools()) shown.capabilities.push_back("tools");
  if (model.turns != nullptr && model.turns->reasons()) shown.capabilities.push_back("thinking");
  return shown;
}

OllamaModel ollama_model(const ServedEmbedder& model) {
  OllamaModel shown{.name = model.name,
                    .created = model.created,
                    .context = model.context,
                    .facts = &model.facts};
  if (model.pairs == nullptr) shown.capabilities.push_back("embedding");
  return shown;
}

OllamaModel ollama_model(const ModelRow& row) {
  OllamaModel shown{.name = row.model->name,
                    .created = row.model->created,
                    .context = row.model->context,
                    .facts = &row.model->facts};
  if (row.lease != nullptr) {
    const ServedModels& models = row.lease->models();
    shown = models.text != nullptr ? ollama_model(*models.text)
                                   : ollama_model(*models.of_queues().front());
    shown.holds = row.lease;
  } else {
    if (row.model->kind == ModelKind::kText) shown.capabilities.push_back("completion");
    if (row.model->kind == ModelKind::kEmbedder) shown.capabilities.push_back("embedding");
    shown.holds = row.model;
  }
  shown.aliases = row.model->aliases;
  shown.loaded = row.status == ModelStatus::kLoaded;
  shown.expires_seconds = row.expires_seconds;
  return shown;
}

std::string ollama_tags_body(std::span<const OllamaModel> models) {
  Json json;
  json.object().key("models").array();
  for (const OllamaModel& model : models) {
    begin_listed(json, model, model.facts->file_bytes);
    json.key("modified_at").text(ollama_time(static_cast<double>(model.created))).end_object();
  }
  return json.end_array().end_object().line();
}

std::string ollama_running_body(std::span<const OllamaModel> models) {
  Json json;
  json.object().key("models").array();
  const auto now = static_cast<double>(std::time(nullptr));
  for (const OllamaModel& model : models) {
    if (!model.loaded) continue;
    begin_listed(json, model, model.facts->memory_bytes);
    json.key("expires_at");
    if (model.expires_seconds) {
      json.text(ollama_time(now + *model.expires_seconds));
    } else {
      json.text(kNeverExpires);
    }
    json.key("size_vram").number(uint64_t{0});
    json.key("context_length").number(uint64_t{model.context}).end_object();
  }
  return json.end_array().end_object().line();
}

std::string ollama_version_body(std::string_view own_version) {
  Json json;
  json.object().key("version").text(kOllamaVersion).key("hearth").text(own_version);
  return json.end_object().line();
}

std::string ollama_show_body(const OllamaModel& model) {
  Json json;
  json.object().key("modelfile").text("").key("parameters");
  json.text(model.sampling != nullptr ? parameters_text(*model.sampling) : "");
  json.key("template").text("");
  write_details(json, *model.facts);
  // Shows the context of this server, which may be smaller than the model's, as the one that
  // clients can use.
  boost::json::object info = model.facts->info;
  info[model.facts->architecture + ".context_length"] = model.context;
  json.key("model_info");
  write_value(json, info);
  json.key("capabilities").array();
  for (std::string_view capability : model.capabilities) json.text(capability);
  json.end_array().key("modified_at").text(ollama_time(static_cast<double>(model.created)));
  return json.end_object().line();
}

void OllamaShow::begin() {
  auto show = [this] {
    BodyLease lease;
    const std::string body = exchange().take_body(&lease);
    reply_with(std::make_unique<MadeBody>(ollama_show_body(asked(body))), Outcome::kOk);
  };
  on_worker(show, exchange().request().body.size());
}

const OllamaModel& OllamaShow::asked(std::string_view body) const {
  const boost::json::object fields = read_object(body, depth_);
  const std::string name = read_ollama_name(fields);
  std::string known;
  for (const OllamaModel& model : models_) {
    auto means = [&](const std::string& own) { return ollama_names(name, own); };
    if (!name.empty() && (means(model.name) || std::ranges::any_of(model.aliases, means))) {
      return model;
    }
    known += (known.empty() ? "" : "' and '") + model.name;
  }
  throw RequestError(no_such_model(name, known));
}

}  // namespace hearth
