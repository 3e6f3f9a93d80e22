#include "cli/served_stock.h"

#include <fmt/format.h>

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
  set_->offer(find_offers(setting_, configuration_, OfferTime::kLater, &known_));
}

void ServedStock::offer_without(const std::string& name) {
  std::vector<OfferedModel> others;
  for (const ModelRow& row : set_->rows()) {
    if (row.model->name != name) others.push_back(*row.model);
  }
  set_->offer(std::move(others));
}

bool ServedStock::pull(const std::string& name, const std::atomic<bool>& stop,
                       const PullListener& listener) {
  const HubName hub = read_hub_name(name);
  StorePlaces places = find_places();
  places.offline = places.offline || setting_.args.offline;
  const PulledModel pulled = pull_model(places, hub, {}, stop, listener);
  if (!pulled.whole) return false;
  std::lock_guard lock(mutex_);
  try {
    offer_again();
  } catch (const Error& error) {
    throw Error(error.code(),
                fmt::format("'{}' is on the disk now, and is not served, since another of the "
                            "server's models cannot be read: {}",
                            printable(pulled.name), error.what()));
  }
  if (set_->find(pulled.name) == nullptr) {
    fail(ErrorCode::kFile,
         "'{}' is on the disk now, and cannot be served; the server's log says "
         "why",
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
    throw RequestError({400,
                        "",
                        "model_stays",
                        fmt::format("'{}' was named when the server was started, or lies outside "
                                    "Hugging Face's cache: remove it yourself",
                                    model->name),
                        "model",
                        {}});
  }
  const StorePlaces places = find_places();
  const std::optional<LocalModel> local = find_local_model(find_local_models(places), model->name);
  if (local && local->store == kCacheStore) remove_from_cache(places, *local);
  try {
    offer_again();
  } catch (const std::exception& error) {
    // It is gone all the same.
    offer_without(model->name);
    tell("hearth: '{}' was removed, and the other models were not looked at: {}\n",
         printable(model->name), error.what());
  }
}

}  // namespace hearth
