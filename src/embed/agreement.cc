#include "embed/agreement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/error.h"
#include "engine/logits.h"

namespace hearth {
namespace {

constexpr std::array<std::string_view, 8> kTexts = {
    "a",
    "The cat sat on the mat.",
    "How do I reset the password of my account?",
    "In 1969 two people walked on the Moon; a third one waited in orbit.",
    "for (int i = 0; i < 10; ++i) sum += values[i];",
    "Der Zug nach M\u00fcnchen f\u00e4hrt um 7:45 Uhr von Gleis 12 ab.",
    "\u4eca\u5929\u5929\u6c14\u5f88\u597d\uff0c\u6211\u4eec\u53bb\u516c\u56ed\u6563\u6b65\u5427"
    "\u3002",
    "Retrieval finds passages that answer a question. Each passage becomes a vector, and so does "
    "the question; passages whose vectors point the same way are read first.",
};

// Returns what is wrong with one device's vectors, without comparing them to other devices'; "" if
// nothing is.
std::string fault_of(const std::vector<EmbedVector>& vectors, uint32_t width) {
  if (vectors.size() != kTexts.size()) {
    return fmt::format("it gave {} vectors for {} texts", vectors.size(), kTexts.size());
  }
  for (const EmbedVector& vector : vectors) {
    if (vector.size() != width) {
      return fmt::format("it gave a vector of {} elements instead of {}", vector.size(), width);
    }
    if (!all_finite(vector)) return "it gave a vector with elements that are not finite";
  }
  return {};
}

std::string difference(const std::vector<EmbedVector>& own, const std::vector<EmbedVector>& first,
                       const std::string& first_name) {
  if (own[0].size() != first[0].size()) {
    return fmt::format("its vectors have {} elements, and those of {} have {}", own[0].size(),
                       first_name, first[0].size());
  }
  double least = 1;
  for (size_t i = 0; i < own.size(); ++i) least = std::min(least, cosine(own[i], first[i]));
  if (least >= kAgreement) return {};
  return fmt::format(
      "it embeds texts differently from {}: the least cosine of {} texts is {:.4f}, below {}",
      first_name, own.size(), least, kAgreement);
}

}  // namespace

const std::array<std::string_view, 8>& agreement_texts() { return kTexts; }

double cosine(const EmbedVector& a, const EmbedVector& b) {
  if (a.size() != b.size()) return 0;
  double product = 0, aa = 0, bb = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    product += double{a[i]} * b[i];
    aa += double{a[i]} * a[i];
    bb += double{b[i]} * b[i];
  }
  return aa > 0 && bb > 0 ? product / std::sqrt(aa * bb) : 0;
}

std::vector<std::string> check_agreement(
    const std::vector<EmbedDevice*>& devices,
    const std::function<EmbedQuery(std::string_view text)>& query) {
  std::vector<EmbedQuery> queries;
  for (std::string_view text : kTexts) queries.push_back(query(text));
  std::vector<const EmbedQuery*> batch;
  for (const EmbedQuery& one : queries) batch.push_back(&one);
  std::vector<std::string> troubles;
  std::vector<EmbedVector> first;
  std::string first_name;
  for (EmbedDevice* device : devices) {
    std::string& trouble = troubles.emplace_back();
    try {
      std::vector<EmbedVector> vectors = device->run(batch);
      trouble = fault_of(vectors, device->width());
      if (!trouble.empty()) continue;
      if (first.empty()) {
        first = std::move(vectors);
        first_name = device->name();
      } else {
        trouble = difference(vectors, first, first_name);
      }
    } catch (const Error& error) {
      trouble = error.what();
    }
  }
  return troubles;
}

}  // namespace hearth
