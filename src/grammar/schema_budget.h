// The work that compiling a schema may be: processor time of the thread, and how much comes of it.
//
// Errors: SchemaTooComplex, beginning with the schema's name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace hearth {

// A schema whose grammar would take too long to make or too much room.
class SchemaTooComplex : public Error {
 public:
  explicit SchemaTooComplex(const std::string& message) : Error(ErrorCode::kRequest, message) {}
};

class SchemaBudget {
 public:
  // Begins now. `name`: what errors call the schema.
  SchemaBudget(std::string_view name, double cpu_seconds, uint64_t steps);

  // Takes `steps` off. One is about a rule or a case made.
  void spend(uint64_t steps = 1);

  // Processor time that the calling thread has taken.
  static double thread_seconds();

 private:
  std::string name_;
  double end_;
  uint64_t left_;
  uint64_t until_look_ = 0;
};

}  // namespace hearth
