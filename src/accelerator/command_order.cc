#include "accelerator/command_order.h"

#include <algorithm>

namespace hearth {

CommandOrder::CommandOrder(const CommandList& list, const CommandsAround& around)
    : list_(list),
      queues_(around.queues),
      members_(around.queues),
      position_(list.commands.size()),
      next_(around.queues),
      known_(list.commands.size() * around.queues),
      begins_(list.commands.size()) {
  for (const Moment& moment : around.comes) {
    uint64_t& most = comes_[moment.timeline];
    most = std::max(most, moment.value);
  }
  for (size_t i = 0; i < list.commands.size(); ++i) {
    if (queue(i) >= queues_) continue;
    position_[i] = static_cast<uint32_t>(members_[queue(i)].size());
    members_[queue(i)].push_back(i);
  }
  gather_signals();
  walk();
  find_stuck();
}

void CommandOrder::gather_signals() {
  for (const std::vector<size_t>& members : members_) {
    for (size_t i : members) {
      for (const Moment& moment : list_.commands[i].signals) {
        signals_[moment.timeline].push_back({moment.value, i});
      }
    }
  }
  for (auto& [timeline, signals] : signals_) {
    std::ranges::stable_sort(signals, {}, &Signal::value);
  }
}

uint64_t CommandOrder::comes(TimelineId timeline) const {
  const auto found = comes_.find(timeline);
  return found == comes_.end() ? 0 : found->second;
}

size_t CommandOrder::signaller(const Moment& moment) const {
  if (comes(moment.timeline) >= moment.value) return SIZE_MAX;
  const auto found = signals_.find(moment.timeline);
  if (found == signals_.end()) return SIZE_MAX;
  const auto first = std::ranges::lower_bound(found->second, moment.value, {}, &Signal::value);
  return first == found->second.end() ? SIZE_MAX : first->command;
}

bool CommandOrder::is_over(const Moment& moment) const {
  if (comes(moment.timeline) >= moment.value) return true;
  const size_t command = signaller(moment);
  return command != SIZE_MAX && begins_[command];
}

// Advances the queues in turn, each as far as it can go, until none can.
void CommandOrder::walk() {
  for (bool moved = true; moved;) {
    moved = false;
    for (uint32_t q = 0; q < queues_; ++q) {
      while (next_[q] < members_[q].size()) {
        const size_t command = members_[q][next_[q]];
        const std::vector<Moment>& waits = list_.commands[command].waits;
        if (!std::ranges::all_of(waits, [&](const Moment& m) { return is_over(m); })) break;
        begin(command);
        moved = true;
      }
    }
  }
}

void CommandOrder::begin(size_t command) {
  const uint32_t q = queue(command);
  uint32_t* ended = known(command);
  if (next_[q] > 0) std::copy_n(known(members_[q][next_[q] - 1]), queues_, ended);
  if (list_.commands[command].ordered) ended[q] = next_[q];
  for (const Moment& moment : list_.commands[command].waits) {
    const size_t by = signaller(moment);
    if (by == SIZE_MAX) continue;
    for (uint32_t p = 0; p < queues_; ++p) ended[p] = std::max(ended[p], known(by)[p]);
    ended[queue(by)] = std::max(ended[queue(by)], position_[by] + 1);
  }
  begins_[command] = true;
  sequence_.push_back(command);
  ++next_[q];
}

void CommandOrder::find_stuck() {
  for (uint32_t q = 0; q < queues_; ++q) {
    if (next_[q] == members_[q].size()) continue;
    const size_t command = members_[q][next_[q]];
    for (const Moment& moment : list_.commands[command].waits) {
      if (is_over(moment)) continue;
      const size_t by = signaller(moment);
      std::vector<bool> seen(queues_);
      const bool circle = by != SIZE_MAX && leads_to(queue(by), q, seen);
      stuck_.push_back({command, moment, by, circle});
    }
  }
}

// Whether queue `queue` must go on before queue `from` can. That is so where `from` waits for a
// signal that `queue` gives later, or that another queue gives which itself waits for `queue`.
bool CommandOrder::leads_to(uint32_t from, uint32_t queue, std::vector<bool>& seen) const {
  if (from == queue) return true;
  if (seen[from]) return false;
  seen[from] = true;
  for (const Moment& moment : list_.commands[members_[from][next_[from]]].waits) {
    if (is_over(moment)) continue;
    const size_t by = signaller(moment);
    if (by != SIZE_MAX && leads_to(list_.commands[by].queue, queue, seen)) return true;
  }
  return false;
}

bool CommandOrder::before(size_t a, size_t b) const { return position_[a] < known(b)[queue(a)]; }

bool CommandOrder::signals_before(size_t a, size_t b) const {
  return queue(a) == queue(b) ? position_[a] < position_[b] : before(a, b);
}

std::vector<size_t> CommandOrder::unordered_with(size_t command) const {
  std::vector<size_t> with;
  const uint32_t* ended = known(command);
  for (uint32_t q = 0; q < queues_; ++q) {
    const auto first = members_[q].begin() + ended[q], end = members_[q].begin() + next_[q];
    // A later command of a queue begins after at least as many ended commands as an earlier one. So
    // the queue's commands that must begin after the end of `command` are its last ones.
    const auto behind =
        std::partition_point(first, end, [&](size_t other) { return !before(command, other); });
    std::copy_if(first, behind, std::back_inserter(with),
                 [&](size_t other) { return other > command; });
  }
  return with;
}

}  // namespace hearth
