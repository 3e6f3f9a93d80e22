#include "golden_set.h"

#include <rapidjson/document.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <sstream>
#include <stdexcept>

namespace hearth {
namespace {

std::string slurp(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read " + path + ": is HEARTH_GOLDEN_DIR set?");
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// Reads a float32 C-order .npy of format 1.0.
std::vector<float> read_npy(const std::string& path, size_t count) {
  std::string bytes = slurp(path);
  size_t header = 10 + (static_cast<uint8_t>(bytes.at(8)) | static_cast<uint8_t>(bytes.at(9)) << 8);
  if (bytes.size() != header + count * sizeof(float))
    throw std::runtime_error(path + ": wrong size");
  std::vector<float> values(count);
  std::memcpy(values.data(), bytes.data() + header, count * sizeof(float));
  return values;
}

GoldenModel::Noise noise_of(const rapidjson::Value& model, const char* kind) {
  const rapidjson::Value& noise = model["noise"][kind];
  return {noise["rms"].GetDouble(), noise["max"].GetDouble()};
}

}  // namespace

std::string golden_folder() {
  const char* folder = std::getenv("HEARTH_GOLDEN_DIR");
  return std::string(folder ? folder : "golden") + "/";
}

std::vector<GoldenModel> read_golden_set(const char* list) {
  const std::string dir = golden_folder();
  rapidjson::Document manifest;
  manifest.Parse(slurp(dir + "manifest.json").c_str());
  std::vector<GoldenModel> set;
  for (const rapidjson::Value& entry : manifest[list].GetArray()) {
    GoldenModel model;
    model.name = entry["name"].GetString();
    model.path = dir + (entry.HasMember("path") ? entry["path"].GetString() : model.name + ".gguf");
    if (entry.HasMember("twin")) model.twin = entry["twin"].GetString();
    std::istringstream tokens(slurp(dir + model.name + ".tokens.txt"));
    for (int32_t token; tokens >> token;) model.tokens.push_back(token);
    for (const rapidjson::Value& length : entry["texts"].GetArray()) {
      model.texts.push_back(length.GetUint());
    }
    model.vocabulary = entry["n_vocab"].GetUint();
    model.width = entry["n_embd"].GetUint();
    std::string rows = dir + model.name;
    if (entry.HasMember("score_std")) {
      model.scores = read_npy(rows + ".scores.npy", model.texts.size());
      model.score_std = entry["score_std"].GetDouble();
      for (const auto& second : entry["seconds"].GetArray()) {
        model.seconds.push_back(second.GetUint());
      }
      for (const auto& word : entry["words"].GetArray()) model.words.push_back(word.GetInt());
    } else if (entry.HasMember("hidden_std")) {
      model.hidden = read_npy(rows + ".hidden.npy", model.tokens.size() * model.width);
      model.hidden_std = entry["hidden_std"].GetDouble();
    } else {
      model.logits = read_npy(rows + ".logits.npy", model.tokens.size() * model.vocabulary);
      model.logit_std = entry["logit_std"].GetDouble();
    }
    model.f32 = noise_of(entry, "f32");
    model.activation_bf16 = noise_of(entry, "activation bf16");
    model.activation_q8_0 = noise_of(entry, "activation q8_0");
    model.kv_f16 = noise_of(entry, "kv f16");
    model.kv_bf16 = noise_of(entry, "kv bf16");
    model.kv_q8_0 = noise_of(entry, "kv q8_0");
    model.quantised = false;
    model.bf16 = false;
    for (const auto& type : entry["types"].GetObject()) {
      std::string name = type.name.GetString();
      const bool fp8 = name == "F8_E4M3" || name == "mxfp8";
      model.bf16 |= name == "BF16" || fp8;
      model.quantised |= name != "F32" && name != "F16" && name != "BF16" && !fp8;
    }
    set.push_back(std::move(model));
  }
  return set;
}

double GoldenModel::shard_bound() const {
  double noise = quantised ? activation_q8_0.rms : bf16 ? activation_bf16.rms : 30 * f32.rms;
  return noise * std();
}

double GoldenModel::kv_move(KvType type) const {
  const Noise& noise = type == KvType::kF16    ? kv_f16
                       : type == KvType::kBF16 ? kv_bf16
                       : type == KvType::kQ8_0 ? kv_q8_0
                                               : f32;
  return noise.rms * std();
}

GoldenModel::Noise GoldenModel::reference_bound() const {
  if (quantised || bf16) {
    const Noise& noise = quantised ? activation_q8_0 : activation_bf16;
    return {2.83 * noise.rms * std(), 2.83 * noise.max * std()};
  }
  double largest = 0;
  for (float value : encoder() ? hidden : scores.empty() ? logits : scores) {
    largest = std::max(largest, std::abs(static_cast<double>(value)));
  }
  const double part = encoder() ? 1e-5 : 1e-4;
  return {part * largest, part * largest};
}

Difference difference(const std::vector<float>& a, const std::vector<float>& b) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  if (a.size() != b.size()) return {kNan, kNan};
  Difference d;
  for (size_t i = 0; i < a.size(); ++i) {
    double e = std::abs(static_cast<double>(a[i]) - b[i]);
    d.max = std::max(d.max, e);
    d.rms += e * e;
  }
  d.rms = std::sqrt(d.rms / static_cast<double>(a.size()));
  if (std::isnan(d.rms)) d.max = d.rms;  // every later comparison with NaN fails
  return d;
}

std::vector<float> golden_rows(Engine& engine, const GoldenModel& model, size_t at_once) {
  const bool encoder = model.encoder();
  std::vector<std::unique_ptr<Sequence>> sequences;
  std::vector<StepRequest> requests;
  std::span<const int32_t> left = model.tokens;
  while (!left.empty()) {
    if (encoder || sequences.empty()) sequences.push_back(engine.new_sequence());
    size_t count = encoder ? model.texts[requests.size()] : std::min(at_once, left.size());
    requests.push_back(
        {sequences.back().get(), left.first(count), encoder ? Want::kHidden : Want::kAll});
    left = left.subspan(count);
  }
  std::vector<float> rows;
  std::span<const StepRequest> steps = requests;
  while (!steps.empty()) {
    std::span<const StepRequest> step = steps.first(encoder ? std::min(at_once, steps.size()) : 1);
    engine.step(step);
    size_t given = 0;
    for (const StepRequest& request : step) given += request.tokens.size();
    for (size_t r = 0; r < given; ++r) {
      std::span<const float> row = encoder ? engine.hidden(r) : engine.logits(r);
      rows.insert(rows.end(), row.begin(), row.end());
    }
    steps = steps.subspan(step.size());
  }
  return rows;
}

std::string golden_test_name(const testing::TestParamInfo<GoldenModel>& golden) {
  std::string name = golden.param.name;
  std::ranges::replace_if(
      name, [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

Isa plain_level() {
  const std::vector<Isa> levels = available_isas(detect_cpu_features());
  return levels[std::min<size_t>(1, levels.size() - 1)];
}

}  // namespace hearth
