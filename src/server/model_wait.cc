#include "server/model_wait.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "server/body_members.h"
#include "server/json_fields.h"
#include "server/ollama_reply.h"

namespace hearth {
namespace {

std::optional<double> keep_field(const boost::json::object& body, const char* name) {
  const boost::json::value* given = find_field(body, name);
  if (given == nullptr) return {};
  if (given->is_number()) return given->to_number<double>();
  if (!given->is_string()) return {};
  return read_duration({given->get_string().data(), given->get_string().size()});
}

bool is_empty(const boost::json::object& body, const char* name) {
  const boost::json::value* given = find_field(body, name);
  if (given == nullptr) return true;
  return given->is_array() ? given->get_array().empty()
                           : given->is_string() && given->get_string().empty();
}

}  // namespace

std::optional<double> read_duration(std::string_view text) {
  struct Unit {
    std::string_view name;
    double seconds;
  };
  constexpr Unit kUnits[] = {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3},
                             {"s", 1},     {"m", 60},    {"h", 3600}};
  double sign = 1, seconds = 0;
  if (text.starts_with('-')) {
    sign = -1;
    text.remove_prefix(1);
  }
  if (text.empty()) return {};
  while (!text.empty()) {
    if (text[0] != '.' && (text[0] < '0' || text[0] > '9')) return {};
    double number = 0;
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
    if (error != std::errc{}) return {};
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    const size_t length = std::min(text.find_first_of("-.0123456789"), text.size());
    const std::string_view name = text.substr(0, length);
    const Unit* unit = nullptr;
    for (const Unit& each : kUnits) {
      if (each.name == name) unit = &each;
    }
    // A number without a unit means seconds, and must be the whole text.
    if (unit == nullptr && !(name.empty() && text.empty() && seconds == 0)) return {};
    seconds += number * (unit == nullptr ? 1 : unit->seconds);
    text.remove_prefix(length);
  }
  return sign * seconds;
}

AskedModel read_asked_model(std::string_view body, uint32_t depth, HttpDialect dialect) {
  const boost::json::object fields = read_members(body, depth);
  AskedModel asked;
  if (const boost::json::value* name = find_field(fields, "model")) {
    asked.name = text_field(*name, "model");
  }
  asked.keep_seconds = keep_field(fields, "keep_alive");
  if (!asked.keep_seconds) asked.keep_seconds = keep_field(fields, "ttl");
  const boost::json::value* stream = find_field(fields, "stream");
  asked.streams =
      stream != nullptr ? stream->is_bool() && stream->get_bool() : dialect == HttpDialect::kLines;
  asked.lets_go = dialect == HttpDialect::kLines && asked.keep_seconds == 0 &&
                  is_empty(fields, "messages") && is_empty(fields, "prompt");
  return asked;
}

ModelWait::ModelWait(Answers& answers, const std::shared_ptr<Exchange>& exchange,
                     RequestMetrics* metrics, const Choice& choice, Make make)
    : Answer(answers, exchange, metrics),
      shared_(exchange),
      choice_(choice),
      make_(std::move(make)) {}

void ModelWait::begin() {
  auto read = [this] {
    const HttpRequest& request = exchange().request();
    const AskedModel asked = read_asked_model(request.body, choice_.depth, request.dialect);
    on_reactor([this, asked] { ask(asked); });
  };
  on_worker(read, exchange().request().body.size());
}

bool ModelWait::asks_fixed(const std::string& name) const {
  if (!choice_.kind || !choice_.fixed.has(*choice_.kind)) return false;
  const std::string& own = choice_.fixed.name(*choice_.kind);
  return exchange().request().dialect == HttpDialect::kLines ? ollama_names(name, own)
                                                             : name.empty() || name == own;
}

void ModelWait::ask(const AskedModel& asked) {
  if (asks_fixed(asked.name)) return pass_on(make_(shared_, choice_.fixed));
  if (asked.lets_go && choice_.kind == ModelKind::kText) return let_model_go(asked);
  auto got = [weak = weak_from_this()](std::shared_ptr<const ModelLease> lease,
                                       std::optional<ApiError> error) {
    const auto self = std::static_pointer_cast<ModelWait>(weak.lock());
    if (!self) return;
    try {
      self->on_reactor([wait = self.get(), lease, error] {
        wait->ticket_ = 0;
        error ? wait->fail(*error) : wait->take(lease);
      });
    } catch (const std::exception&) {
      self->exchange().fall_short();
    }
  };
  ticket_ = choice_.set.want({asked.name, choice_.kind, asked.keep_seconds}, got);
  if (ticket_ == 0 || !asked.streams || !choice_.may_stream) return;
  later(kQuietSeconds, [this] { begin_events(); });
}

// Handles a request that only gives the model back, for which it need not be loaded.
void ModelWait::let_model_go(const AskedModel& asked) {
  ModelWish wish{.name = asked.name};
  if (asked.name.empty()) wish.kind = choice_.kind;
  if (const std::optional<ApiError> error = choice_.set.let_go(wish)) return fail(*error);
  const bool chat = exchange().request().path == "/api/chat";
  OllamaReply form({.route = chat ? OllamaRoute::kChat : OllamaRoute::kGenerate,
                    .model = asked.name,
                    .asked = OllamaAsked::kToLetGo});
  std::string line = form.end({});
  if (asked.streams) {
    exchange().begin_events();
    exchange().send(std::move(line));
    exchange().end();
  } else {
    exchange().reply({.body = std::move(line)});
  }
  end(Outcome::kOk, 200, "");
}

void ModelWait::begin_events() {
  if (ticket_ != 0) exchange().begin_events();
}

void ModelWait::take(const std::shared_ptr<const ModelLease>& lease) {
  const std::shared_ptr<Answer> next = make_(shared_, lease->models());
  next->keep(lease);
  pass_on(next);
}

void ModelWait::let_go() noexcept {
  if (ticket_ != 0) choice_.set.drop(ticket_);
}

void ModelWait::forget() noexcept {
  Answer::forget();
  let_go();
}

}  // namespace hearth
