#include "server/metrics_text.h"

#include <fmt/format.h>

#include <cstdint>
#include <iterator>

namespace hearth {
namespace {

std::string escaped(std::string_view value) {
  std::string text;
  for (char c : value) {
    if (c == '\\' || c == '"') text += '\\';
    if (c == '\n') {
      text += "\\n";
    } else {
      text += c;
    }
  }
  return text;
}

}  // namespace

void MetricsText::family(std::string_view name, std::string_view type, std::string_view help) {
  name_ = name;
  fmt::format_to(std::back_inserter(text_), "# HELP {0} {1}\n# TYPE {0} {2}\n", name, help, type);
}

void MetricsText::sample(Labels labels, double value) {
  text_ += name_;
  char before = '{';
  for (const auto& [label, of] : labels) {
    fmt::format_to(std::back_inserter(text_), "{}{}=\"{}\"", before, label, escaped(of));
    before = ',';
  }
  fmt::format_to(std::back_inserter(text_), "{}{}\n", labels.size() > 0 ? "} " : " ", value);
}

void MetricsText::counter(std::string_view name, std::string_view help, double value) {
  family(name, "counter", help);
  sample({}, value);
}

void MetricsText::gauge(std::string_view name, std::string_view help, double value) {
  family(name, "gauge", help);
  sample({}, value);
}

void MetricsText::histogram(std::string_view name, std::string_view help,
                            const Histogram& histogram) {
  family(name, "histogram", help);
  samples(histogram);
}

void MetricsText::samples(const Histogram& histogram, Labels labels) {
  std::string own;
  for (const auto& [label, of] : labels) own += fmt::format("{}=\"{}\",", label, escaped(of));
  uint64_t count = 0;
  for (size_t bucket = 0; bucket <= histogram.bounds().size(); ++bucket) {
    count += histogram.count(bucket);
    std::string bound =
        bucket < histogram.bounds().size() ? fmt::format("{}", histogram.bounds()[bucket]) : "+Inf";
    fmt::format_to(std::back_inserter(text_), "{}_bucket{{{}le=\"{}\"}} {}\n", name_, own, bound,
                   count);
  }
  if (!own.empty()) own = "{" + own.substr(0, own.size() - 1) + "}";
  fmt::format_to(std::back_inserter(text_), "{0}_sum{1} {2}\n{0}_count{1} {3}\n", name_, own,
                 histogram.sum(), count);
}

}  // namespace hearth
