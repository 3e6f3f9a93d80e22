#include "embed/device_spec.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace hearth {
namespace {

std::string error_of(const std::string& spec) {
  try {
    parse_device_spec(spec);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUsage);
    return error.what();
  }
  return "none";
}

TEST(DeviceSpec, ReadsSimulations) {
  DeviceSpec spec = parse_device_spec(
      "sim:alpha=0.018,beta=0.27,kind=cpu,noise=0.05,seed=7,tokens=50,width=16,name=v100");
  EXPECT_EQ(spec.name, "v100");
  EXPECT_EQ(spec.kind, DeviceKind::kCpu);
  const auto& sim = std::get<SimOptions>(spec.what);
  EXPECT_EQ(sim.alpha, 0.018);
  EXPECT_EQ(sim.beta, 0.27);
  EXPECT_EQ(sim.noise, 0.05);
  EXPECT_EQ(sim.seed, 7u);
  EXPECT_EQ(sim.tokens, 50u);
  EXPECT_EQ(sim.width, 16u);
  EXPECT_EQ(parse_device_spec("sim").kind, DeviceKind::kAccelerator);
}

TEST(DeviceSpec, ReadsEndpoints) {
  DeviceSpec spec = parse_device_spec("http://10.0.0.2:8080/v1/");
  EXPECT_EQ(spec.name, "10.0.0.2:8080");
  EXPECT_EQ(spec.kind, DeviceKind::kAccelerator);
  EXPECT_EQ(std::get<EndpointOptions>(spec.what).base, "http://10.0.0.2:8080/v1");
  spec = parse_device_spec(
      "https://host/v1,model=bge,key=THE_KEY,timeout=2.5,encoding=base64,kind=cpu,name=b");
  const auto& endpoint = std::get<EndpointOptions>(spec.what);
  EXPECT_EQ(endpoint.base, "https://host/v1");
  EXPECT_EQ(endpoint.model, "bge");
  EXPECT_EQ(endpoint.key_variable, "THE_KEY");
  EXPECT_EQ(endpoint.timeout, 2.5);
  EXPECT_TRUE(endpoint.base64);
  EXPECT_EQ(spec.kind, DeviceKind::kCpu);
  EXPECT_EQ(spec.name, "b");
}

TEST(DeviceSpec, LeavesTheSettingsOfPoolsToTheCaller) {
  DeviceSpec spec = parse_device_spec("cpu:threads=8,nodes=1");
  EXPECT_EQ(spec.kind, DeviceKind::kCpu);
  EXPECT_EQ(std::get<PoolSpec>(spec.what).settings,
            (std::map<std::string, std::string>{{"threads", "8"}, {"nodes", "1"}}));
  EXPECT_TRUE(std::get<PoolSpec>(parse_device_spec("cpu").what).settings.empty());
}

TEST(DeviceSpec, TakesAGpuByItsName) {
  DeviceSpec spec = parse_device_spec("gpu");
  EXPECT_EQ(spec.kind, DeviceKind::kAccelerator);
  EXPECT_EQ(spec.name, "gpu");
  EXPECT_EQ(std::get<GpuSpec>(spec.what).name, "");
  spec = parse_device_spec("gpu:RTX 5090, left");
  EXPECT_EQ(spec.name, "gpu:RTX 5090, left");
  EXPECT_EQ(std::get<GpuSpec>(spec.what).name, "RTX 5090, left");
}

TEST(DeviceSpec, NamesWhatIsWrong) {
  EXPECT_NE(error_of("npu").find("'npu' is not a device"), std::string::npos);
  EXPECT_NE(error_of("").find("'' is not a device"), std::string::npos);
  EXPECT_NE(error_of("sim:alpha").find("'alpha' is not KEY=VALUE"), std::string::npos);
  EXPECT_NE(error_of("sim:alpha=1,alpha=2").find("repeats a key: give it once"), std::string::npos);
  EXPECT_NE(error_of("sim:alpha=-1").find("'alpha=-1' is not a number"), std::string::npos);
  EXPECT_NE(error_of("sim:alpha=nan").find("'alpha=nan' is not a number"), std::string::npos);
  EXPECT_NE(error_of("sim:width=0").find("is not a number from 1"), std::string::npos);
  EXPECT_NE(error_of("sim:gamma=1").find("'gamma' is not a setting"), std::string::npos);
  EXPECT_NE(error_of("sim:kind=gpu").find("'gpu' is not a kind"), std::string::npos);
  EXPECT_NE(error_of("http:///v1").find("has no host: give an address such as http://host:port/v1"),
            std::string::npos);
  EXPECT_NE(
      error_of("http://:80/v1").find("has no host: give an address such as http://host:port/v1"),
      std::string::npos);
  EXPECT_NE(error_of("http://").find("has no host: give an address such as http://host:port/v1"),
            std::string::npos);
  EXPECT_NE(error_of("http://me:secret@host/v1").find("key=VARIABLE"), std::string::npos);
  EXPECT_NE(error_of("http://host/v1,encoding=hex")
                .find("is not an encoding: give encoding=float or encoding=base64"),
            std::string::npos);
  EXPECT_NE(error_of("http://host/v1,alpha=1").find("'alpha' is not a setting"), std::string::npos);
}

TEST(DeviceSpec, NumbersDevicesOfOneName) {
  auto specs = parse_device_specs({"sim", "cpu", "sim", "sim:name=sim"});
  EXPECT_EQ(specs[0].name, "sim");
  EXPECT_EQ(specs[1].name, "cpu");
  EXPECT_EQ(specs[2].name, "sim-2");
  EXPECT_EQ(specs[3].name, "sim-3");
}

TEST(DeviceSpec, MakesDevices) {
  SteadyClock clock;
  auto device = make_device(parse_device_spec("sim:width=3,kind=cpu,name=x"), clock, {});
  EXPECT_EQ(device->name(), "x");
  EXPECT_EQ(device->width(), 3u);
  EXPECT_EQ(device->kind(), DeviceKind::kCpu);
  std::string asked;
  make_device(parse_device_spec("cpu:threads=2"), clock, [&](const DeviceSpec& spec) {
    asked = spec.text;
    return nullptr;
  });
  EXPECT_EQ(asked, "cpu:threads=2");
}

}  // namespace
}  // namespace hearth
