#include "cli/served_stock.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "base/error.h"
#include "base/printable.h"
#include "base/tell.h"
#include "server/exception_error.h"
#include "server/request_error.h"
#include "store/local_models.h"
#include "store/pull.h"

namespace hearth {

void ServedStock::read_again(Configuration configuration) {
  std::lock_guard lock(mutex_);
  KnownHeaders none;
  set_->offer(find_offers(setting_, configuration, OfferTime::kLater, &none));
  configuration_ = std::move(configuration);
  known_ = std::move(none);
}

void ServedStock::offer_again() {
  try {
    set_->offer(find_offers(setting_, configuration_, OfferTime::kLater, &known_));
  } catch (const std::exception& error) {
    print_stderr(
        "hearth: a model named on the command line or in the configuration cannot be read, so only "
        "the models of Hugging Face's cache were updated: {}\n",
        error.what());
    offer_cached_anew();
  }
}

void ServedStock::offer_cached_anew() {
  std::vector<OfferedModel> offers;
  bool queues = false;
  for (const ModelRow& row : set_->rows()) {
    if (row.model->removable) continue;
    offers.push_back(*row.model);
    const bool asked =
        row.model->named || configuration_.contains(std::string(kModelTable) + row.model->name);
    queues = queues || (asked && row.model->kind != ModelKind::kText);
  }
  ServeArgs args = setting_.args;
  args.models.clear();
  const OfferSetting unnamed{args,           setting_.given,  setting_.machine,
                             setting_.turns, setting_.others, queues};
  Configuration verbs = configuration_;
  std::erase_if(verbs, [](const auto& each) { return each.first.starts_with(kModelTable); });
  KnownHeaders known = known_;
  for (OfferedModel& found : find_offers(unnamed, verbs, OfferTime::kLater, &known)) {
    const bool stands = std::ranges::find(offers, found.name, &OfferedModel::name) != offers.end();
    if (found.removable && !stands) offers.push_back(std::move(found));
  }
  set_->offer(std::move(offers));
}

bool ServedStock::pull(const std::string& name, const std::atomic<bool>& stop,
                       const PullListener& listener) {
  const HubName hub = read_hub_name(name);
  StorePlaces places = find_places();
  places.offline = places.offline || setting_.args.offline;
  const PulledModel pulled = pull_model(places, hub, {}, stop, listener);
  if (!pulled.whole) return false;
  std::lock_guard lock(mutex_);
  offer_again();
  if (set_->find(pulled.name) == nullptr) {
    fail(ErrorCode::kFile, "'{}' was downloaded, but cannot be served: see the server's log",
         printable(pulled.name));
  }
  return true;
}

void ServedStock::remove(const std::string& name) {
  std::lock_guard lock(mutex_);
  const std::shared_ptr<const OfferedModel> model = set_->find(name);
  if (model == nullptr) {
    throw RequestError(no_such_model(name, fmt::format("{}", fmt::join(set_->names(), "' and '"))));
  }
  if (!model->removable) {
    throw RequestError(
        {400,
         "",
         "model_stays",
         fmt::format("'{}' cannot be deleted through the API, as it was named when the server was "
                     "started, or is outside Hugging Face's cache: delete its file yourself",
                     model->name),
         "model",
         {}});
  }
  const StorePlaces places = find_places();
  const std::optional<LocalModel> local = find_local_model(find_local_models(places), model->name);
  if (local && local->store == kCacheStore) remove_from_cache(places, *local);
  offer_again();
}

}  // namespace hearth
