#include "primitives/cpu/grad/gradients.hpp"

#include <gtest/gtest.h>

#include <set>

#include "primitives/cpu/backend.hpp"

namespace znni::cpu {
namespace {

TEST(Gradients, AreListedOnceUnderTheirOwnNames) {
  std::set<std::string_view> names;
  for (const GradientPrimitive* primitive : gradient_registry()) {
    EXPECT_TRUE(primitive->name.starts_with("cpu.grad.")) << primitive->name;
    EXPECT_EQ(primitive->device, DeviceKind::cpu) << primitive->name;
    EXPECT_GE(primitive->version, 1) << primitive->name;
    EXPECT_TRUE(names.insert(primitive->name).second) << primitive->name << " is listed twice";
  }
  EXPECT_TRUE(names.contains("cpu.grad.direct"));
}

// Searches loop over the registry of layers: gradients are not a part of it.
TEST(Gradients, AreNoLayers) {
  for (const Primitive* primitive : registry()) EXPECT_FALSE(primitive->name.starts_with("cpu.grad."));
}

TEST(Gradients, StreamTheirTensors) {
  const GradientProblem problem{ActivationProblem{{1, 3, {4, 5, 6}}, {ActivationKind::relu}}};
  EXPECT_EQ(gradient_traffic(problem, {}, {}), 3.0 * 4 * 3 * 120);
  DeviceSpec spec = describe_cpu(1);
  const auto seconds = [&](double flops) { return streaming_gradients(problem, spec, {{}}, flops).front().time; };
  EXPECT_GT(seconds(1e9), 100 * seconds(1.0));
  spec.bytes_per_second = 1.0;
  EXPECT_NEAR(seconds(0.0), 3.0 * 4 * 3 * 120, 1.0);
}

}  // namespace
}  // namespace znni::cpu
