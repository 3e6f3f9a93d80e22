#include "embed/detector.h"

#include <gtest/gtest.h>

#include "embed/agreement.h"
#include "embed/sim_device.h"

namespace hearth {
namespace {

const DeviceSight kGpu{"gpu", DeviceKind::kAccelerator, ""};
const DeviceSight kPool{"pool", DeviceKind::kCpu, ""};
const DeviceSight kBrokenGpu{"broken", DeviceKind::kAccelerator, "it does not answer"};

std::vector<bool> queues(const std::vector<DeviceSight>& devices, bool offload) {
  std::vector<bool> out;
  for (const QueueDecision& decision : decide_queues(devices, offload)) {
    EXPECT_FALSE(decision.why.empty());
    out.push_back(decision.queue);
  }
  return out;
}

TEST(Detector, GivesAQueueToAllOfOneKind) {
  EXPECT_EQ(queues({kPool}, false), (std::vector<bool>{true}));
  EXPECT_EQ(queues({kPool, kPool}, true), (std::vector<bool>{true, true}));
  EXPECT_EQ(queues({kGpu, kGpu}, false), (std::vector<bool>{true, true}));
}

TEST(Detector, OffloadsOnlyWhereThatWasAsked) {
  EXPECT_EQ(queues({kPool, kGpu}, false), (std::vector<bool>{false, true}));
  EXPECT_EQ(queues({kPool, kGpu}, true), (std::vector<bool>{true, true}));
}

TEST(Detector, CountsNoKindThatIsInTrouble) {
  EXPECT_EQ(queues({kPool, kBrokenGpu}, false), (std::vector<bool>{true, false}));
  EXPECT_EQ(decide_queues({kBrokenGpu}, false)[0].why, "it does not answer");
}

TEST(Detector, ReportsDevicesThatMissTheObjectiveAlone) {
  EXPECT_EQ(trouble_of_slo(1, 1), "");
  EXPECT_EQ(trouble_of_slo(1.25, 1),
            "a single text takes 1.25 s, longer than the objective of 1 s");
}

// A simulated device that adds `by` to one element of a vector.
class Changed : public SimDevice {
 public:
  Changed(std::string name, DeviceClock& clock, float by)
      : SimDevice(std::move(name), DeviceKind::kCpu, options(), clock), by_(by) {}
  static SimOptions options() {
    SimOptions sim;
    sim.alpha = sim.beta = 0;
    return sim;
  }
  std::vector<EmbedVector> run(std::span<const EmbedQuery* const> batch) override {
    auto vectors = SimDevice::run(batch);
    vectors[5][3] += by_;
    return vectors;
  }

 private:
  float by_;
};

TEST(Agreement, RefusesOtherVectors) {
  SteadyClock clock;
  // The change adds to a vector of length 1; a cosine of 0.999 is an angle of 0.045.
  Changed first("first", clock, 0), near("near", clock, 0.01f), far("far", clock, 0.5f),
      nan("nan", clock, NAN);
  SimOptions wide_options = Changed::options();
  wide_options.width = 9;
  SimDevice wide("wide", DeviceKind::kCpu, wide_options, clock);
  auto query = [](std::string_view text) { return EmbedQuery{std::string(text), {}}; };
  auto troubles = check_agreement({&nan, &first, &near, &far, &wide}, query);
  EXPECT_NE(troubles[0].find("not finite"), std::string::npos);
  EXPECT_EQ(troubles[1], "");
  EXPECT_EQ(troubles[2], "");
  EXPECT_NE(troubles[3].find("embeds texts differently from first"), std::string::npos);
  EXPECT_EQ(troubles[4], "its vectors have 9 elements, and those of first have 8");
}

TEST(Agreement, HasACosine) {
  EXPECT_DOUBLE_EQ(cosine({3, 4}, {4, 3}), 0.96);
  EXPECT_EQ(cosine({0, 0}, {1, 1}), 0);
  EXPECT_EQ(cosine({1}, {1, 1}), 0);
}

}  // namespace
}  // namespace hearth
