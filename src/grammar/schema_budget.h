// SchemaBudget limits the compilation of a schema: processor time of the thread, and steps.
//
// Errors: SchemaTooComplex, beginning with the schema's name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace hearth {

// Thrown for a schema whose grammar would take too long to make or too much memory.
class SchemaTooComplex : public Error {
 public:
  explicit SchemaTooComplex(const std::string& message) : Error(ErrorCode::kRequest, message) {}
};

class SchemaBudget {
 public:
  // Starts now. `name` is the schema's in errors.
  SchemaBudget(std::string_view name, double cpu_seconds, uint64_t steps);

  // Spends `steps`; one is about a rule or a case made.
  void spend(uint64_t steps = 1);

  // Returns the processor time that the calling thread has used, in seconds.
  static double thread_seconds();

 private:
  std::string name_;
  double end_;
  uint64_t left_;
  uint64_t until_look_ = 0;
};

}  // namespace hearth
