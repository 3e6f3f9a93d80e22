// The models of `hearth serve` where there may be several: those on the command line, those of a
// configuration's tables, and with --models those on this machine or in a folder.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cli/configured_words.h"
#include "cli/serve_options.h"
#include "server/model_set.h"
#include "topology/machine.h"

namespace hearth {

// Returns whether models are served as a set that is loaded on demand, instead of one model that is
// always loaded.
bool serves_set(const ServeArgs& args, const Configuration& configuration);

// Settings that all models share. Must outlive the models.
struct OfferSetting {
  const ServeArgs& args;
  const GivenWords& given;
  const Machine& machine;
  std::shared_ptr<StepTurns> turns;
  std::shared_ptr<const std::vector<uint32_t>> others;  // PUs of models outside of the set
  // Whether to reserve cores for models that embed or rank, even if find_offers() finds none that
  // the user named. Set for a later search that does not look for named models again.
  bool queues_apart = false;
};

// Missing models are fetched at the start only.
enum class OfferTime : uint8_t { kStart, kLater };

// The kind of model that a file's header states, which holds as long as the file has the same
// stamp.
struct KnownHeader {
  std::string stamp;
  ModelKind kind;
  uint32_t context;
  ModelFacts facts;
};
using KnownHeaders = std::map<std::string, KnownHeader>;  // by OfferedModel::made_of

// Finds the models. Reads the headers of all files that are not in `known`, and adds these headers
// to it. A model that was named and cannot be served is an error (kUsage, kFile and those of the
// readers), and so are two such models with one name. A model that was only found is left out in
// these cases, with a note.
std::vector<OfferedModel> find_offers(const OfferSetting& setting,
                                      const Configuration& configuration, OfferTime time,
                                      KnownHeaders* known);

}  // namespace hearth
