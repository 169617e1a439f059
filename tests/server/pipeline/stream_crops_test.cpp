// Streams of nets that crop: the same output as independent patches and the sliding window give.
#include <gtest/gtest.h>

#include <set>

#include "tests/server/pipeline/engine_bench.hpp"
#include "tests/server/pipeline/hand_plan.hpp"
#include "tests/server/pipeline/random_network.hpp"
#include "tests/server/pipeline/streams.hpp"

namespace znni {
namespace {

using test::EngineBench;
using test::Random;
using test::RandomVolume;

// Draws conv - crop - pool, then a crop beside a convolution that reaches as far.
Network network_of_crops(Random& random) {
  const Crop behind{random.vec3(0, 2), random.vec3(0, 2)};
  const Activation relu{ActivationKind::relu, 0};
  Network network;
  network.f_in = 1;
  network.nodes = {{"conv", Convolution{2, Vec3::cube(2), Vec3::cube(1), relu}, {0}},
                   {"before", Crop{random.vec3(0, 3), random.vec3(0, 3)}, {1}},
                   {"pool", Pooling{}, {2}},
                   {"behind", behind, {3}},
                   {"beside", Convolution{2, behind.begin + behind.end + Vec3::cube(1), Vec3::cube(1), relu}, {3}},
                   {"both", Concat{}, {4, 5}}};
  return network;
}

TEST(StreamCrops, FromEitherSideEqualIndependentPatchesAndTheDenseWindow) {
  std::set<int> axes;
  for (int i = 0; i < test::case_count(40); ++i) {
    const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
    Random random(seed);
    const Network network = network_of_crops(random);
    const std::optional<GeometryChoice> choice = test::random_stream(network, random);
    if (!choice) continue;
    axes.insert(choice->axis);
    SCOPED_TRACE("ZNNI_TEST_SEED=" + std::to_string(seed) + ", " + test::text_of(*choice));
    const EngineBench made = test::open_bench(network, {*choice});
    const EngineBench patches = test::open_bench(network, {test::choice_of(network, PoolMode::fragments, 1)});
    const Vec3 n = made.engine->field_of_view() + random.vec3(0, 12);
    const RandomVolume volume = test::random_volume(1, n, ElementType::f32, random);
    test::expect_exact(made, volume);
    EXPECT_EQ(test::output_values(test::run_job(*made.engine, volume.view())),
              test::output_values(test::run_job(*patches.engine, volume.view())));
  }
  EXPECT_GE(std::ssize(axes), test::case_count(40) / 40 * 3);  // few cases may lack some
}

}  // namespace
}  // namespace znni
