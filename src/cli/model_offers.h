// The models that `hearth serve` has where they are several: those named on the command line, those
// of a configuration's tables, and with --models those on this machine or in a folder.
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

// Whether this is served as a set of models, and not as one that is always there.
bool serves_set(const ServeArgs& args, const Configuration& configuration);

// The settings that all models share. It outlives the models.
struct OfferSetting {
  const ServeArgs& args;
  const ToldWords& told;
  const Machine& machine;
  std::shared_ptr<StepTurns> turns;
  std::shared_ptr<const std::vector<uint32_t>> others;  // PUs that somebody else works on
  // Whether a model that find_offers() does not read has queues, and was asked for.
  bool queues_apart = false;
};

// Models that are not here are fetched at the start; later nothing is.
enum class OfferTime : uint8_t { kStart, kLater };

// The header of a file, valid as long as the file has the same stamp.
struct KnownHeader {
  std::string stamp;
  ModelKind kind;
  uint32_t context;
  ModelFacts facts;
};
using KnownHeaders = std::map<std::string, KnownHeader>;  // by OfferedModel::made_of

// Every file's header is read, but for those in `known`, which has them all behind that. What is
// named and cannot be served is an error (kUsage, kFile and
// those of the readers), and so are two of a name; what was only found is left out, with a note.
std::vector<OfferedModel> find_offers(const OfferSetting& setting,
                                      const Configuration& configuration, OfferTime time,
                                      KnownHeaders* known);

}  // namespace hearth
