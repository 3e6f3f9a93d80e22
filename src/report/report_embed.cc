#include <fmt/format.h>

#include "bench/figure_text.h"
#include "report/report_fields.h"

namespace hearth {
namespace {

std::string within(const ReportFields& one) {
  return fmt::format("{:.0f} tokens in {:.4g} s", one.number("length"), one.number("slo_seconds"));
}

}  // namespace

void read_embed(const ReportFields& fields, ReportFile* report) {
  const std::string model = fields.text("model");
  report->title = model.empty() ? "Texts that devices embed" : model + ": texts that are embedded";
  for (const std::string& device : fields.texts("devices")) report->facts.push_back(device);
  FigureSet at_once{.chart = "Texts at once",
                    .name = "texts at once",
                    .caption =
                        "The most that come at one moment and are all answered within the "
                        "objective: of each device alone, and of all together.",
                    .unit = "texts"};
  for (const ReportFields& one : fields.objects("cases")) {
    for (const ReportFields& device : one.objects("devices")) {
      at_once.figures.push_back({fmt::format("{} alone, {}", device.text("name"), within(one)),
                                 {},
                                 device.number("alone")});
    }
    at_once.figures.push_back({"all together, " + within(one), {}, one.number("together")});
  }
  FigureSet in_time{.chart = "Answers in time",
                    .name = "in time",
                    .caption = "Of the texts that came at random moments and were accepted.",
                    .unit = "",
                    .quantity = Quantity::kPart,
                    .marks = {{1, "all"}}};
  FigureSet slow{.chart = "Time of an answer",
                 .name = "99 %",
                 .caption = "Within that time came 99 % of the answers.",
                 .unit = "",
                 .quantity = Quantity::kSeconds,
                 .more_is_better = false};
  for (const ReportFields& load : fields.objects("arrivals")) {
    const double accepted = load.number("accepted");
    if (accepted == 0) continue;
    const std::string what = fmt::format("{}, by {}, {} texts/s", within(load),
                                         load.text("admission"), rate_text(load.number("rate")));
    in_time.figures.push_back({what, {}, load.number("in_time") / accepted});
    slow.figures.push_back({what, {}, load.object("latency_seconds").number("p99")});
  }
  for (FigureSet* set : {&at_once, &in_time, &slow}) report->add(std::move(*set));
}

}  // namespace hearth
