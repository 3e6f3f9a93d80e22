// MetricsText writes figures in Prometheus's text format (version 0.0.4): families with help and
// type, then their samples. Labels are written as given: {"outcome", "stop"}.
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

  // Begins a family; the samples that follow are its own.
  void family(std::string_view name, std::string_view type, std::string_view help);
  void sample(Labels labels, double value);

  // Families of one sample without labels.
  void counter(std::string_view name, std::string_view help, double value);
  void gauge(std::string_view name, std::string_view help, double value);
  // Buckets by upper bound, cumulative, with sum and count. They are read one after the other, so
  // the count is made of the buckets: the two always agree.
  void histogram(std::string_view name, std::string_view help, const Histogram& histogram);
  // Writes a histogram in parts: a family of that type, and its samples with or without a label.
  void samples(const Histogram& histogram, Labels labels = {});

  std::string take() { return std::move(text_); }

 private:
  std::string name_;
  std::string text_;
};

}  // namespace hearth
