#include "grammar/schema_budget.h"

#include <time.h>

namespace hearth {
namespace {

constexpr uint64_t kStepsBetweenLooks = 64;

}  // namespace

SchemaBudget::SchemaBudget(std::string_view name, double cpu_seconds, uint64_t steps)
    : name_(name), end_(thread_seconds() + cpu_seconds), left_(steps) {}

double SchemaBudget::thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

void SchemaBudget::spend(uint64_t steps) {
  const bool looks = until_look_ < steps;
  until_look_ = looks ? kStepsBetweenLooks : until_look_ - steps;
  if (left_ >= steps && (!looks || thread_seconds() < end_)) {
    left_ -= steps;
    return;
  }
  throw SchemaTooComplex(name_ +
                         ": this schema takes too long to compile; give one with fewer "
                         "alternatives, or with smaller bounds");
}

}  // namespace hearth
