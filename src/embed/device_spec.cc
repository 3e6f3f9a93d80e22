#include "embed/device_spec.h"

#include <charconv>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "base/error.h"
#include "embed/endpoint_device.h"

namespace hearth {
namespace {

constexpr double kMaxSeconds = 1e6;
constexpr uint32_t kMaxTokens = 1u << 20;
constexpr uint32_t kWidestVector = 1u << 16;

[[noreturn]] void refuse(std::string_view spec, std::string_view part, std::string_view remedy) {
  fail(ErrorCode::kUsage, "--device {}: '{}' {}", spec, part, remedy);
}

// Parses "a=1,b=2" into pairs, in order. Throws where a key stands twice.
std::vector<std::pair<std::string, std::string>> settings_of(std::string_view spec,
                                                             std::string_view list) {
  std::vector<std::pair<std::string, std::string>> out;
  std::set<std::string> keys;
  while (!list.empty()) {
    size_t end = std::min(list.find(','), list.size());
    std::string_view part = list.substr(0, end);
    list.remove_prefix(std::min(end + 1, list.size()));
    size_t equals = part.find('=');
    if (equals == part.npos || equals == 0 || equals + 1 == part.size()) {
      refuse(spec, part, "is not KEY=VALUE");
    }
    out.emplace_back(part.substr(0, equals), part.substr(equals + 1));
    if (!keys.insert(out.back().first).second) refuse(spec, part, "repeats a key: give it once");
  }
  return out;
}

class Settings {
 public:
  Settings(std::string_view spec, std::string_view list)
      : spec_(spec), left_(settings_of(spec, list)) {}

  std::optional<std::string> take(std::string_view key) {
    for (auto it = left_.begin(); it != left_.end(); ++it) {
      if (it->first != key) continue;
      std::string value = std::move(it->second);
      left_.erase(it);
      return value;
    }
    return std::nullopt;
  }
  void take(std::string_view key, double least, double most, double* value) {
    std::optional<std::string> text = take(key);
    if (text) *value = number<double>(key, *text, least, most);
  }
  template <typename Whole>
  void take_whole(std::string_view key, Whole least, Whole most, Whole* value) {
    std::optional<std::string> text = take(key);
    if (text) *value = number<Whole>(key, *text, least, most);
  }
  void take(std::string_view key, std::string* value) {
    if (std::optional<std::string> text = take(key)) *value = std::move(*text);
  }
  void take_kind(DeviceKind* kind) {
    std::optional<std::string> text = take("kind");
    if (!text) return;
    if (*text != "accelerator" && *text != "cpu") {
      refuse(spec_, *text, "is not a kind: give kind=accelerator or kind=cpu");
    }
    *kind = *text == "cpu" ? DeviceKind::kCpu : DeviceKind::kAccelerator;
  }
  std::map<std::string, std::string> rest() { return {left_.begin(), left_.end()}; }
  // Throws if a key is left that was not read; `known` lists the valid keys for the message.
  void end(std::string_view known) const {
    if (!left_.empty()) {
      refuse(spec_, left_[0].first,
             fmt::format("is not a setting of this device: its settings are {}", known));
    }
  }

 private:
  template <typename Number>
  Number number(std::string_view key, const std::string& text, Number least, Number most) {
    Number value{};
    const char* last = text.data() + text.size();
    auto [stop, error] = std::from_chars(text.data(), last, value);
    if (error == std::errc{} && stop == last && value >= least && value <= most) return value;
    refuse(spec_, fmt::format("{}={}", key, text),
           fmt::format("is not a number from {} to {}", least, most));
  }

  std::string_view spec_;
  std::vector<std::pair<std::string, std::string>> left_;
};

DeviceSpec sim_spec(std::string_view text, std::string_view list) {
  DeviceSpec spec{std::string(text), "sim", DeviceKind::kAccelerator, {}};
  SimOptions sim;
  Settings settings(text, list);
  settings.take("name", &spec.name);
  settings.take_kind(&spec.kind);
  settings.take("alpha", 0, kMaxSeconds, &sim.alpha);
  settings.take("beta", 0, kMaxSeconds, &sim.beta);
  settings.take("noise", 0, 0.9, &sim.noise);
  settings.take_whole<uint64_t>("seed", 0, UINT64_MAX, &sim.seed);
  settings.take_whole<uint32_t>("tokens", 1, kMaxTokens, &sim.tokens);
  settings.take_whole<uint32_t>("width", 1, kWidestVector, &sim.width);
  settings.end("alpha, beta, kind, name, noise, seed, tokens and width");
  spec.what = sim;
  return spec;
}

DeviceSpec endpoint_spec(std::string_view text) {
  size_t comma = std::min(text.find(','), text.size());
  std::string_view base = text.substr(0, comma);
  size_t host = base.find("://") + 3;
  while (!base.empty() && base.back() == '/') base.remove_suffix(1);
  for (char c : base) {
    if (c <= ' ' || c > '~' || c == '?' || c == '#' || c == '@') {
      refuse(text, base,
             "is not an address such as http://host:port/v1; give an API key with key=VARIABLE");
    }
  }
  std::string_view authority = base.substr(std::min(host, base.size()));
  authority = authority.substr(0, authority.find('/'));
  if (authority.empty() || authority.front() == ':') {
    refuse(text, base, "has no host: give an address such as http://host:port/v1");
  }
  DeviceSpec spec{std::string(text), std::string(authority), DeviceKind::kAccelerator, {}};
  EndpointOptions endpoint;
  endpoint.base = base;
  Settings settings(text, text.substr(std::min(comma + 1, text.size())));
  settings.take("name", &spec.name);
  settings.take_kind(&spec.kind);
  settings.take("model", &endpoint.model);
  settings.take("key", &endpoint.key_variable);
  settings.take("timeout", 1e-3, 1e5, &endpoint.timeout);
  settings.take("connect_timeout", 1e-3, 1e5, &endpoint.connect_timeout);
  std::string encoding = "float";
  settings.take("encoding", &encoding);
  if (encoding != "float" && encoding != "base64") {
    refuse(text, encoding, "is not an encoding: give encoding=float or encoding=base64");
  }
  endpoint.base64 = encoding == "base64";
  settings.end("connect_timeout, encoding, key, kind, model, name and timeout");
  spec.what = endpoint;
  return spec;
}

bool begins(std::string_view text, std::string_view with) {
  return text.substr(0, with.size()) == with;
}

}  // namespace

DeviceSpec parse_device_spec(std::string_view text) {
  if (begins(text, "http://") || begins(text, "https://")) return endpoint_spec(text);
  size_t colon = std::min(text.find(':'), text.size());
  std::string_view list = text.substr(std::min(colon + 1, text.size()));
  if (text.substr(0, colon) == "sim") return sim_spec(text, list);
  if (text.substr(0, colon) == "cpu") {
    DeviceSpec spec{std::string(text), "cpu", DeviceKind::kCpu, {}};
    Settings settings(text, list);
    settings.take("name", &spec.name);
    spec.what = PoolSpec{settings.rest()};
    return spec;
  }
  if (text.substr(0, colon) == "gpu") {
    return {std::string(text), std::string(text), DeviceKind::kAccelerator,
            GpuSpec{std::string(list)}};
  }
  refuse(text, text.substr(0, colon),
         "is not a device: give one such as cpu, gpu, http://host:port/v1 or "
         "sim:alpha=0.018,beta=0.27");
}

std::vector<DeviceSpec> parse_device_specs(const std::vector<std::string>& texts) {
  std::vector<DeviceSpec> specs;
  std::set<std::string> names;
  for (const std::string& text : texts) {
    DeviceSpec spec = parse_device_spec(text);
    std::string first = spec.name;
    for (uint32_t i = 2; !names.insert(spec.name).second; ++i) {
      spec.name = fmt::format("{}-{}", first, i);
    }
    specs.push_back(std::move(spec));
  }
  return specs;
}

std::unique_ptr<EmbedDevice> make_device(const DeviceSpec& spec, DeviceClock& clock,
                                         const PoolMaker& pool) {
  if (const auto* sim = std::get_if<SimOptions>(&spec.what)) {
    return std::make_unique<SimDevice>(spec.name, spec.kind, *sim, clock);
  }
  if (const auto* endpoint = std::get_if<EndpointOptions>(&spec.what)) {
    return std::make_unique<EndpointDevice>(spec.name, spec.kind, *endpoint);
  }
  return pool(spec);
}

}  // namespace hearth
