// The models of a set while it serves: found at the start, read again at a SIGHUP, and where
// clients may (--allow-pull) changed by them.
#pragma once

#include <mutex>
#include <string>

#include "cli/model_offers.h"
#include "server/model_stock.h"

namespace hearth {

class ServedStock final : public ModelStock {
 public:
  // `setting` outlives it.
  ServedStock(const OfferSetting& setting, Configuration configuration)
      : setting_(setting), configuration_(std::move(configuration)) {}

  // Finds the models at the start. Errors are those of find_offers(), also of the following.
  std::vector<OfferedModel> find() {
    return find_offers(setting_, configuration_, OfferTime::kStart, &known_);
  }
  // The set that has them, from here on.
  void keep(ModelSet* set) { set_ = set; }
  // Reads the configuration and all headers again. Where it throws, all stays as it was.
  void read_again(Configuration configuration);

  bool pull(const std::string& name, const std::atomic<bool>& stop,
            const PullListener& listener) override;
  void remove(const std::string& name) override;

 private:
  // Offers what the machine has now. Must be called under the lock.
  void offer_again();
  // Does so for the models of Hugging Face's cache alone; the others stay as they were offered.
  void offer_cached_anew();

  const OfferSetting& setting_;
  ModelSet* set_ = nullptr;
  std::mutex mutex_;  // while offers are found: the last to find some must be the last to offer
  Configuration configuration_;
  KnownHeaders known_;
};

}  // namespace hearth
