#include "tune/attend_search.h"

#include <algorithm>

#include "kernels/attention/attention.h"

namespace hearth {
namespace {

// A schedule must save this part of the time at 95 % confidence. It must not make any case slower
// by this part or more.
constexpr double kMustSave = 0.01;

TimeRatio product(const TimeRatio& a, const TimeRatio& b) {
  return {a.ratio * b.ratio, a.low * b.low, a.high * b.high};
}

// Returns `schedule`, but with those values that `one` sets.
AttendSchedule with(AttendSchedule schedule, const AttendSchedule& one) {
  if (one.places != 0) schedule.places = one.places;
  if (one.tasks != 0) schedule.tasks = one.tasks;
  return schedule;
}

}  // namespace

std::vector<AttendSchedule> attend_candidates(uint32_t places, uint32_t depth) {
  std::vector<AttendSchedule> all{{.places = places == 4 ? 1u : 4u}};
  for (uint32_t tasks : {2u, 8u, 16u}) {
    if (depth > kSpanPositions) all.push_back({.tasks = tasks});
  }
  return all;
}

std::vector<AttendSchedule> untried(const std::vector<AttendSchedule>& candidates,
                                    const std::optional<TunedAttend>& known) {
  std::vector<AttendSchedule> left = candidates;
  if (!known) return left;
  std::erase_if(left, [&](const AttendSchedule& one) {
    return std::ranges::count(known->tried, one) > 0 ||
           with(known->schedule, one) == known->schedule;
  });
  return left;
}

bool search_attention(const std::vector<AttendSchedule>& candidates,
                      const CompareAttention& compare, const std::function<void()>& save,
                      std::optional<TunedAttend>* known) {
  for (const AttendSchedule& one : untried(candidates, *known)) {
    TunedAttend found = known->value_or(TunedAttend());
    const AttendSchedule other = with(found.schedule, one);
    const std::optional<PlanPairs::Comparison> compared = compare(found.schedule, other);
    if (!compared) return false;
    found.trials += compared->pairs;
    found.tried.push_back(one);
    const TimeRatio& cost = compared->cost;
    if (cost.high <= 1 - kMustSave && compared->dearest <= 1 + kMustSave) {
      found.schedule = other;
      found.cost = product(found.cost, cost);
    }
    *known = std::move(found);
    save();
  }
  return true;
}

bool confirm_attention(const CompareAttention& compare, const std::function<void()>& save,
                       std::optional<TunedAttend>* known) {
  if (!*known || (*known)->schedule == (*known)->confirmed.schedule) return true;
  TunedAttend& found = **known;
  ConfirmedAttend& confirmed = found.confirmed;
  for (const AttendSchedule& one : {AttendSchedule{.places = found.schedule.places},
                                    AttendSchedule{.tasks = found.schedule.tasks}}) {
    const AttendSchedule other = with(confirmed.schedule, one);
    if (other == confirmed.schedule) continue;
    const std::optional<PlanPairs::Comparison> compared = compare(confirmed.schedule, other);
    if (!compared) return false;
    found.trials += compared->pairs;
    if (compared->cost.ratio > 1 || compared->dearest > 1 + kMustSave) continue;
    confirmed = {other, product(confirmed.cost, compared->cost)};
  }
  if (found.schedule != confirmed.schedule || confirmed.cost.ratio > found.cost.ratio) {
    found.cost = confirmed.cost;
  }
  found.schedule = confirmed.schedule;
  confirmed.cost = found.cost;
  save();
  return true;
}

}  // namespace hearth
