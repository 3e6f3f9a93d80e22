// MetricsText writes metrics in Prometheus's text format (version 0.0.4): each family's help and
// type, then its samples. Labels are written as given: {"outcome", "stop"}.
//
//   MetricsText text;
//   text.family("hearth_requests_total", "counter", "Requests by how they ended.");
//   text.sample({{"outcome", "stop"}}, 7);
//   reply(text.take());
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "base/histogram.h"

namespace hearth {

class MetricsText {
 public:
  using Labels = std::initializer_list<std::pair<std::string_view, std::string_view>>;

  // Begins a family; the samples that follow belong to it.
  void family(std::string_view name, std::string_view type, std::string_view help);
  void sample(Labels labels, double value);

  // Each writes a family with one sample, without labels.
  void counter(std::string_view name, std::string_view help, double value);
  void gauge(std::string_view name, std::string_view help, double value);
  // Writes a histogram as a family: cumulative buckets by upper bound, sum and count. The count is
  // the sum of the buckets as read, so that they agree while other threads count.
  void histogram(std::string_view name, std::string_view help, const Histogram& histogram);
  // Writes only the samples of a histogram, with labels if given; family() comes before.
  void samples(const Histogram& histogram, Labels labels = {});

  std::string take() { return std::move(text_); }

 private:
  std::string name_;
  std::string text_;
};

}  // namespace hearth
