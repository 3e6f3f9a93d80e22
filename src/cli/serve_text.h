// A text model that `hearth serve` serves: from its file to the API's answers.
//
//   ServedText text(args, machine, std::move(model));  // whatever can be refused is refused here
//   text.load(name, {});                               // takes time
//   app.serve({.text = &text.served()});
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "chat/find_turn_format.h"
#include "cli/serve_options.h"
#include "engine/open_model.h"
#include "server/served_model.h"
#include "template/chat_prompt.h"
#include "topology/machine.h"

namespace hearth {

class ServedText {
 public:
  // `args` and `machine` must outlive the object.
  ServedText(const ServeArgs& args, const Machine& machine, OpenedModel model);

  // Loads the model. Avoids the PUs `others`, on which other models compute, unless the options
  // place this model. Takes at most `room` bytes; 0: what is free.
  void load(const std::string& name, const std::vector<uint32_t>& others, uint64_t room = 0);
  // Returns the least memory that the model needs: with keys and values for one sequence.
  uint64_t min_bytes() const;

  const ServedModel& served() const { return *served_; }
  // Returns whether there is a chat template.
  bool chats() const { return chat_->has_template(); }
  // The path of the model's file.
  const std::string& path() const { return model_.source.name(); }
  // Returns the PUs on which no step runs, for all other work; empty if steps run on all cores.
  const std::vector<uint32_t>& spare_pus() const { return service_->engine().spare_pus(); }

 private:
  EngineArgs engine_args(const std::vector<uint32_t>& others) const;
  EngineOptions engine_options() const;
  void print_start() const;
  void find_turns();

  const ServeArgs& args_;
  const Machine& machine_;
  OpenedModel model_;
  SamplingParams sampling_;
  std::optional<std::string> template_text_;
  std::optional<ChatPrompt> chat_;
  FoundTurnFormat turns_;
  std::unique_ptr<Service> service_;
  std::optional<ServiceBackend> backend_;
  std::optional<ServedModel> served_;
};

}  // namespace hearth
