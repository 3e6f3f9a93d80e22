// The models of a set while it serves: listed at the start, again at a SIGHUP, and after a client
// changed them, which --allow-pull permits.
#pragma once

#include <mutex>
#include <string>

#include "cli/model_offers.h"
#include "server/model_stock.h"

namespace hearth {

class ServedStock final : public ModelStock {
 public:
  // `setting` must outlive the object.
  ServedStock(const OfferSetting& setting, Configuration configuration)
      : setting_(setting), configuration_(std::move(configuration)) {}

  // Lists the models at the start. Throws as find_offers(), as do the following functions.
  std::vector<OfferedModel> find() {
    return find_offers(setting_, configuration_, OfferTime::kStart, &known_);
  }
  // Sets the set that is updated from here on.
  void keep(ModelSet* set) { set_ = set; }
  // Reads the configuration and all headers again. If that throws, nothing changes.
  void read_again(Configuration configuration);

  bool pull(const std::string& name, const std::atomic<bool>& stop,
            const PullListener& listener) override;
  void remove(const std::string& name) override;

 private:
  // Lists the models again and updates the set. The caller holds the lock.
  void offer_again();
  // Lists the models of Hugging Face's cache again and updates the set; other models stay as they
  // were.
  void offer_cached_anew();

  const OfferSetting& setting_;
  ModelSet* set_ = nullptr;
  std::mutex mutex_;  // held while models are listed, so that the latest list is offered last
  Configuration configuration_;
  KnownHeaders known_;
};

}  // namespace hearth
