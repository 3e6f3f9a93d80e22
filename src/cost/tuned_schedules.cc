// Selects the schedules of a tuned file that an engine uses.
#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/fnv_hash.h"
#include "cost/tuned_file.h"

namespace hearth {

ScheduleTable tuned_schedules(const Tuned& tuned) {
  ScheduleTable table;
  for (const TunedProduct& product : tuned.products) {
    const bool gains = std::ranges::any_of(tuned.products, [&](const TunedProduct& other) {
      return other.entry.product == product.entry.product && !other.entry.schedule.is_default();
    });
    if (gains) table.entries.push_back(product.entry);
  }
  if (tuned.attend) table.attend = tuned.attend->schedule;
  return table;
}

ScheduleTable timed_schedules(const Tuned& tuned) {
  Tuned timed = tuned;
  uint32_t most = 0;
  for (const TunedProduct& product : tuned.products) {
    most = std::max(most, product.entry.max_rows);
  }
  for (TunedProduct& product : timed.products) {
    const uint32_t rows = product.entry.max_rows;
    // A prompt of more than `most` tokens is computed in steps of `most` rows.
    const bool known = std::ranges::any_of(tuned.steps, [&](const TunedStep& step) {
      const uint32_t of = step.phase == Phase::kPrefill ? std::min(step.size, most) : step.size;
      return std::ranges::count(product_rows(product.entry.product, of), rows) > 0;
    });
    if (!known) product.entry.schedule = {};
  }
  return tuned_schedules(timed);
}

ProcessorSchedules exported_schedules(const Tuned& tuned, const Processor& processor, Isa isa) {
  const ScheduleTable table = timed_schedules(tuned);
  const AttendSchedule& attend = table.attend;
  if (table.entries.empty() && attend.places == 0 && attend.tasks != 0) {
    fail(ErrorCode::kUsage,
         "this model gains only from attention's number of tasks, which a processor's schedules "
         "cannot express: nothing to export; the result stays saved for `hearth tune`");
  }
  if (table.entries.empty() && attend.places == 0) {
    fail(ErrorCode::kUsage,
         "no kernel schedule saved for this model is faster than the default: search for some with "
         "`hearth tune MODEL`");
  }
  return {.vendor = processor.vendor,
          .family = {processor.family, processor.family},
          .model = {processor.model, processor.model},
          .levels = {{isa, attend.places, table.entries}}};
}

const TunedProduct* find_product(const std::vector<TunedProduct>& products,
                                 const ProductShape& shape, uint32_t max_rows) {
  const auto found = std::ranges::find_if(products, [&](const TunedProduct& of) {
    return of.entry.is_case_of({shape, max_rows, {}});
  });
  return found == products.end() ? nullptr : &*found;
}

void divide_products(Tuned* tuned, const std::function<bool(const ProductShape&)>& used) {
  std::vector<TunedProduct> all = std::exchange(tuned->products, {});
  all.insert(all.end(), tuned->others.begin(), tuned->others.end());
  tuned->others.clear();
  for (TunedProduct& product : all) {
    const ScheduleEntry& entry = product.entry;
    std::vector<TunedProduct>& to = used(entry.product) ? tuned->products : tuned->others;
    if (find_product(to, entry.product, entry.max_rows) == nullptr) {
      to.push_back(std::move(product));
    }
  }
}

void keep_engine_plan(const std::string& text, Tuned* tuned) {
  if (text != tuned->engine_plan) {
    tuned->steps.clear();
    tuned->attend.reset();
  }
  tuned->engine_plan = text;
}

uint64_t plan_hash(const Plan& plan) {
  FnvHash hash;
  hash.add(plan_text(plan));
  return hash.value();
}

}  // namespace hearth
