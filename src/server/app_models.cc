// Routes that describe models and show their figures. None of them loads a model.
#include <algorithm>

#include "base/json.h"
#include "server/app.h"
#include "server/exception_error.h"
#include "server/model_order.h"

namespace hearth {
namespace {

// Returns the value of a name in a URL's query: "b" for "a=b&c=d" and "a"; "" if the query lacks
// the name.
std::string query_value(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    const size_t end = std::min(query.find('&'), query.size());
    const std::string_view pair = query.substr(0, end);
    if (pair.size() > name.size() && pair.starts_with(name) && pair[name.size()] == '=') {
      return percent_decoded(pair.substr(name.size() + 1));
    }
    query.remove_prefix(std::min(end + 1, query.size()));
  }
  return {};
}

ModelInfo model_info(const ServedModel& model) {
  return {model.name, model.created, model.backend.context()};
}

ModelInfo model_info(const ServedEmbedder& model) {
  return {model.name, model.created, model.context};
}

ModelInfo model_info(const ModelRow& row) {
  ModelInfo info{row.model->name, row.model->created, row.model->context};
  if (row.lease != nullptr) {
    const ServedModels& models = row.lease->models();
    info =
        models.text != nullptr ? model_info(*models.text) : model_info(*models.of_queues().front());
  }
  info.status = model_status_name(row.status);
  info.failure = row.failure;
  return info;
}

// Writes the body of GET /props, with those of llama.cpp's properties that this server has.
std::string properties_body(const ModelInfo& model, const SamplingParams* sampling,
                            uint32_t slots) {
  Json json;
  json.object().key("model_alias").text(model.id).key("status").text(model.status);
  json.key("is_sleeping").boolean(model.status == "sleeping");
  json.key("total_slots").number(uint64_t{slots});
  json.key("default_generation_settings").object();
  json.key("n_ctx").number(uint64_t{model.context});
  if (sampling != nullptr) {
    json.key("params").object().key("temperature").real(sampling->temperature);
    json.key("top_k").integer(sampling->top_k).key("top_p").real(sampling->top_p);
    json.key("min_p").real(sampling->min_p);
    json.key("repeat_penalty").real(sampling->repeat_penalty).end_object();
  }
  json.end_object().key("modalities").object().key("vision").boolean(false);
  json.key("audio").boolean(false).end_object();
  json.key("build_info").text("hearth " HEARTH_VERSION);
  return json.end_object().line();
}

}  // namespace

std::vector<ModelInfo> App::models() const {
  std::vector<ModelInfo> models;
  if (models_.text != nullptr) models.push_back(model_info(*models_.text));
  for (const ServedEmbedder* model : models_.of_queues()) models.push_back(model_info(*model));
  if (set_ == nullptr) return models;
  for (const ModelRow& row : set_->rows()) models.push_back(model_info(row));
  return models;
}

std::vector<OllamaModel> App::ollama_models() const {
  std::vector<OllamaModel> models;
  if (models_.text != nullptr) models.push_back(ollama_model(*models_.text));
  for (const ServedEmbedder* model : models_.of_queues()) models.push_back(ollama_model(*model));
  if (set_ == nullptr) return models;
  for (const ModelRow& row : set_->rows()) models.push_back(ollama_model(row));
  return models;
}

std::optional<ModelRow> App::row_of(const std::string& name) const {
  if (set_ == nullptr) return {};
  const std::shared_ptr<const OfferedModel> found = set_->find(name);
  for (ModelRow& row : set_->rows()) {
    // A request without a name means the first model that is loaded.
    if (name.empty() ? row.lease != nullptr : row.model == found) return std::move(row);
  }
  return {};
}

void App::ollama_show(const std::shared_ptr<Exchange>& exchange) {
  const uint32_t depth = options_.completions.limits.depth;
  answers_.start(std::make_shared<OllamaShow>(answers_, exchange, ollama_models(), depth));
}

void App::ollama_tags(const std::shared_ptr<Exchange>& exchange) {
  answer(exchange, {.body = ollama_tags_body(ollama_models())});
}

void App::ollama_running(const std::shared_ptr<Exchange>& exchange) {
  answer(exchange, {.body = ollama_running_body(ollama_models())});
}

void App::list_models(const std::shared_ptr<Exchange>& exchange) {
  answer(exchange, {.body = model_list_body(models())});
}

void App::refuse_name(const std::shared_ptr<Exchange>& exchange, const std::string& name) {
  std::string known;
  for (const ModelInfo& model : models()) known += (known.empty() ? "" : "' and '") + model.id;
  exchange->reply(refused(exchange->request(), no_such_model(name, known)));
}

void App::answer_model(const std::shared_ptr<Exchange>& exchange) {
  const std::string& path = exchange->request().path;
  const std::string name =
      percent_decoded(std::string_view(path).substr(find_route(path)->path.size()));
  for (const ModelInfo& model : models()) {
    if (model.id == name) return answer(exchange, {.body = model_body(model)});
  }
  if (const std::optional<ModelRow> row = row_of(name)) {
    return answer(exchange, {.body = model_body(model_info(*row))});
  }
  refuse_name(exchange, name);
}

void App::load_model(const std::shared_ptr<Exchange>& exchange) {
  std::vector<std::string> fixed;
  if (models_.text != nullptr) fixed.push_back(models_.text->name);
  for (const ServedEmbedder* model : models_.of_queues()) fixed.push_back(model->name);
  answers_.start(std::make_shared<ModelOrder>(answers_, exchange, set_, std::move(fixed),
                                              options_.completions.limits.depth));
}

void App::answer_plan(const std::shared_ptr<Exchange>& exchange) {
  const std::string name = query_value(exchange->request().query, "model");
  const std::optional<ModelRow> row = row_of(name);
  if (row && row->lease != nullptr) return answer(exchange, {.body = row->lease->plan()});
  if (name.empty()) return answer(exchange, {.body = plan_});
  if (!row) return refuse_name(exchange, name);
  exchange->reply(refused(exchange->request(),
                          {404, "", "not_loaded", "'" + name + "' is not loaded", "model", {}}));
}

void App::answer_properties(const std::shared_ptr<Exchange>& exchange) {
  const std::string name = query_value(exchange->request().query, "model");
  const uint32_t slots = options_.completions.max_running;
  if (const ServedModel* text = models_.text;
      text != nullptr && (name.empty() || name == text->name)) {
    return answer(exchange, {.body = properties_body(model_info(*text), &text->sampling, slots)});
  }
  if (const std::optional<ModelRow> row = row_of(name)) {
    const ServedModel* text = row->lease != nullptr ? row->lease->models().text : nullptr;
    return answer(exchange,
                  {.body = properties_body(model_info(*row),
                                           text != nullptr ? &text->sampling : nullptr, slots)});
  }
  for (const ModelInfo& model : models()) {
    if (name.empty() || model.id == name) {
      return answer(exchange, {.body = properties_body(model, nullptr, slots)});
    }
  }
  refuse_name(exchange, name);
}

void App::answer_metrics(const std::shared_ptr<Exchange>& exchange) {
  answer(exchange, {.content_type = "text/plain; version=0.0.4; charset=utf-8", .body = metrics()});
}

std::string App::metrics() const {
  const AppGauges gauges{server_.connections(), server_.exchanges(),
                         server_.displaced_connections(), server_.refused_connections(),
                         server_.reply_bytes()};
  std::vector<ModelRow> rows;
  if (ready_ && set_ != nullptr) rows = set_->rows();
  std::vector<EngineFigures> engines;
  if (ready_ && models_.text != nullptr) {
    engines.push_back({options_.several ? models_.text->name : std::string_view(),
                       models_.text->backend.statistics()});
  }
  for (const ModelRow& row : rows) {
    const ServedModel* text = row.lease != nullptr ? row.lease->models().text : nullptr;
    if (text != nullptr) engines.push_back({row.model->name, text->backend.statistics()});
  }
  std::string all = metrics_text(completions_.metrics(), gauges, engines);
  auto add = [&](const QueueMetricNames& names, const QueuedTexts& requests, ModelKind kind) {
    std::vector<DeviceStatistics> devices;
    std::vector<std::string> whose;
    auto add_model = [&](const ServedModels& models) {
      const ServedEmbedder* model = models.of_queue(kind);
      if (model == nullptr) return;
      for (DeviceStatistics& device : model->queues.statistics()) {
        devices.push_back(std::move(device));
        if (options_.several) whose.push_back(model->name);
      }
    };
    if (ready_) add_model(models_);
    for (const ModelRow& row : rows) {
      if (row.lease != nullptr) add_model(row.lease->models());
    }
    all += queue_metrics_text(names, requests.metrics(), devices, whose);
  };
  auto has = [&](bool announced, ModelKind kind) {
    return announced ||
           std::ranges::any_of(rows, [&](const ModelRow& row) { return row.model->kind == kind; });
  };
  if (has(options_.embeddings, ModelKind::kEmbedder)) {
    add(kEmbeddingMetrics, embeddings_, ModelKind::kEmbedder);
  }
  if (has(options_.ranks, ModelKind::kReranker)) {
    add(kRerankMetrics, ranks_, ModelKind::kReranker);
  }
  if (set_ != nullptr && ready_) all += model_metrics_text(rows);
  return all;
}

}  // namespace hearth
