#include <gtest/gtest.h>

#include "tests/support/cpu.hpp"

namespace znni::cpu {
extern const Primitive reorder;

namespace {

constexpr Format planar{ElementType::f32, Layout::planar};
constexpr Format blocked16{ElementType::f32, Layout::blocked16};
constexpr Format blocked8{ElementType::f32, Layout::blocked8};

TEST(Reorder, KeepsEveryValueEitherWay) {
  for (const std::int64_t width : {16, 8}) {
    test::check_random(reorder, 12, [&](test::Random& random) { return test::random_reorder(random, width); });
  }
}

TEST(Reorder, RoundTripIsTheIdentity) {
  const std::unique_ptr<Device> device = test::open_cpu(3);
  const Shape5 shape{2, 21, {3, 2, 5}};
  test::Random random(1);
  const std::vector<float> values = random.normals(elements(shape));
  const ReorderProblem there{shape, planar, blocked8};
  const ReorderProblem back{shape, blocked8, planar};
  std::vector<float> kept = values;
  for (const ReorderProblem& problem : {there, back}) {
    const std::vector<Estimate> estimates = reorder.describe(problem, device->spec()).value();
    const std::vector<std::vector<float>> inputs = {kept};
    kept = test::run_once(reorder, problem, estimates[0], {}, inputs, *device).values;
  }
  EXPECT_EQ(kept, values);
}

TEST(Reorder, RefusesWhatIsNotPlanarAndBlockedFloats) {
  const Shape5 shape{1, 4, {2, 2, 2}};
  test::expect_refusal(reorder, ReorderProblem{shape, planar, planar}, "between planar and blocked float32");
  test::expect_refusal(reorder, ReorderProblem{shape, blocked8, blocked16}, "between planar and blocked float32");
  test::expect_refusal(reorder, ReorderProblem{shape, planar, {ElementType::f16, Layout::blocked16}}, "float32");
  test::expect_refusal(reorder, ReorderProblem{shape, planar, {ElementType::f32, Layout::channels_last}}, "blocked");
  test::expect_refusal(reorder, AcrossChannelsProblem{shape}, "cpu.reorder computes reorders");
}

}  // namespace
}  // namespace znni::cpu
