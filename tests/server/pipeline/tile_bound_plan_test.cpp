// Networks that normalise or pool over their window, compared with their definition.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <string>

#include "planner/costs/costs.hpp"
#include "planner/layers/ladder.hpp"
#include "planner/network/tile_bound.hpp"
#include "planner/search/search.hpp"
#include "primitives/cpu/backend.hpp"
#include "primitives/cpu/device/cpu_device.hpp"
#include "tests/server/pipeline/dense_oracle.hpp"
#include "tests/server/pipeline/engine_bench.hpp"
#include "tests/server/pipeline/strided_network.hpp"

namespace znni {
namespace {

using test::EngineBench;
using test::PaddedNetwork;
using test::Random;
using testing::HasSubstr;

// Draws a normalisation with an epsilon that keeps the deviation of few voxels from making rounding errors large.
Norm drawn_norm(std::int64_t f, Random& random) {
  const std::int64_t groups = f % 2 == 0 && random.chance(0.3) ? f / 2 : random.chance(0.3) ? 1 : f;
  return {groups, 0.25F, random.chance(0.3) ? test::random_activation(random) : Activation{}};
}

// Multiplies the last value by factors that are made of its mean, or of its largest voxels: squeeze-and-excitation.
void add_excitation(PaddedNetwork& net, std::int64_t f, Random& random) {
  std::vector<Node>& nodes = net.network.nodes;
  const int value = static_cast<int>(nodes.size());
  const std::string name = "excitation" + std::to_string(value);
  const Convolution narrow{.f_out = random.integer(1, f), .activation = {ActivationKind::relu, 0}};
  const Convolution wide{.f_out = random.chance(0.3) ? 1 : f, .activation = {ActivationKind::sigmoid, 0}};
  nodes.push_back({name + "/pool", GlobalPool{random.chance(0.3) ? PoolKind::max : PoolKind::average}, {value}});
  nodes.push_back({name + "/narrow", narrow, {value + 1}});
  nodes.push_back({name + "/wide", wide, {value + 2}});
  nodes.push_back({name, Multiply{}, {value, value + 3}});
  net.pads.resize(nodes.size());
}

// Puts normalisations and excitations behind some nodes, one at least.
PaddedNetwork with_norms(const PaddedNetwork& padded, Random& random) {
  PaddedNetwork bound = padded;
  bound.network.nodes.clear();
  bound.pads.clear();
  std::vector<int> values = {0};
  const std::vector<std::int64_t> f = channels_of(padded.network);
  for (std::size_t i = 0; i < padded.network.nodes.size(); ++i) {
    Node node = padded.network.nodes[i];
    for (int& input : node.inputs) input = values[static_cast<std::size_t>(input)];
    bound.network.nodes.push_back(std::move(node));
    bound.pads.push_back(padded.pads[i]);
    const bool excites = random.chance(i == 0 ? 0.4 : 0.2);
    if (excites) add_excitation(bound, f[i + 1], random);
    if (!excites && (i == 0 || random.chance(0.3))) {
      const int value = static_cast<int>(bound.network.nodes.size());
      bound.network.nodes.push_back({"norm" + std::to_string(i), drawn_norm(f[i + 1], random), {value}});
      bound.pads.emplace_back();
    }
    values.push_back(static_cast<int>(bound.network.nodes.size()));
  }
  bound.weights = random_weights(bound.network, static_cast<std::uint64_t>(random.integer(1, 1000)));
  return bound;
}

// Lets some of the upsamplings that interpolate align corners.
PaddedNetwork with_aligned_corners(PaddedNetwork net, Random& random) {
  for (std::size_t i = 0; i < net.network.nodes.size(); ++i) {
    auto* up = std::get_if<Upsample>(&net.network.nodes[i].operation);
    if (up == nullptr || up->kind != UpsampleKind::linear || random.chance(0.4)) continue;
    up->kind = UpsampleKind::aligned;
    net.pads[i] = {};
  }
  return net;
}

// Draws a network whose padding does not make the output larger than the volume.
PaddedNetwork random_bound_network(Random& random) {
  for (;;) {
    const bool strided = random.chance(0.6);
    const PaddedNetwork own =
        strided ? test::random_strided_network(random, false, random.chance(0.4)) : test::random_padded_network(random);
    const PaddedNetwork net = with_norms(with_aligned_corners(own, random), random);
    const Result<LoadedNetwork> sound = without_padding({net.network, {}}, net.pads, net.declared);
    if (sound && check(sound->network)) return net;
  }
}

GeometryChoice window_choice(const Network& network, Vec3 window) {
  GeometryChoice choice;
  choice.pass_input = framed(network, window);
  choice.modes.resize(pooling_nodes(network).size());
  choice.closed = axes_of_window(network);
  return choice;
}

std::size_t at(Vec3 n, std::int64_t channel, Vec3 v) {
  return static_cast<std::size_t>(((channel * n.z + v.z) * n.y + v.y) * n.x + v.x);
}
Vec3 voxel_at(Vec3 n, std::int64_t number) { return {number / (n.y * n.x), number / n.x % n.y, number % n.x}; }

// Calls body(channel, voxel of the window, voxel of the volume) where a window of extent `n` that begins at `begin`
// lies within the volume.
template <class Body>
void for_each_inside(std::int64_t f, Vec3 n, Vec3 begin, Vec3 volume, const Body& body) {
  for (std::int64_t i = 0; i < f * voxels(n); ++i) {
    const Vec3 v = voxel_at(n, i % voxels(n));
    if (covers(begin + v, {}) && covers(volume, begin + v + Vec3::cube(1))) body(i / voxels(n), v, begin + v);
  }
}

// Returns the weighted mean of what the network makes of each window by itself, with zeros where the volume has no
// voxels.
oracle::Values blended_oracle(const PaddedNetwork& net, Vec3 window, const oracle::Values& volume, Vec3 n,
                              const WindowBlend& blend) {
  const std::int64_t f_in = net.network.f_in;
  const std::int64_t f_out = channels_of(net.network).back();
  const Vec3 lost = lost_extent(test::valid_form(net, false).network) - Vec3::cube(1);
  const Vec3 made = window - lost;
  const WindowWeights weights = window_weights(blend.weight, made);
  oracle::Values sums(static_cast<std::size_t>(f_out * voxels(n - lost)));
  oracle::Values all(sums.size());
  for (const GridPatch& patch : make_window_grid(n - lost, made, blend.overlap).patches) {
    oracle::Values in(static_cast<std::size_t>(f_in * voxels(window)));
    for_each_inside(f_in, window, patch.start, n, [&](std::int64_t channel, Vec3 v, Vec3 from) {
      in[at(window, channel, v)] = volume[at(n, channel, from)];
    });
    const oracle::Values out = test::padded_oracle(net, window, in);
    for_each_inside(f_out, made, patch.start, n - lost, [&](std::int64_t channel, Vec3 v, Vec3 to) {
      const double weight = weights.of(v);
      sums[at(n - lost, channel, to)] += weight * out[at(made, channel, v)];
      all[at(n - lost, channel, to)] += weight;
    });
  }
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] /= all[i];
  return sums;
}

class TileBoundNetworks : public testing::Test {
 protected:
  void open(std::uint64_t seed, int sockets = 1) {
    random_ = std::make_unique<Random>(seed);
    net_ = random_bound_network(*random_);
    valid_ = test::valid_form(net_, random_->chance(0.5));
    window_ = test::random_extent(valid_.network, *random_);
    engine_.reset();  // before the device that they use
    made_.engine.reset();
    made_ = test::open_bench(valid_.network, {window_choice(valid_.network, window_)}, test::oracle_backend(), sockets);
    engine_ = Engine::open(valid_.network, valid_.weights, made_.plan, made_.catalogue, *made_.device).value();
  }
  static std::uint64_t random_sockets(std::uint64_t seed) { return seed % 3 == 0 ? 2 : 1; }

  // Runs a job on a random volume that flows; returns its difference from the definition, as error_of() does.
  double blended_error(Vec3 n, const WindowBlend& blend) {
    test::RandomVolume volume = test::random_volume(net_.network.f_in, n, ElementType::f32, *random_);
    volume.shape.order = VolumeOrder::plane_major;  // as it flows
    const Result<JobEstimate> said = estimate(n);
    if (!said) throw std::runtime_error(said.error().message);
    test::JobOutcome outcome;
    test::run_flowing(*engine_, volume, *said, outcome);
    if (!outcome.statistics) throw std::runtime_error(outcome.statistics.error().message);
    EXPECT_EQ(outcome.statistics->patches, said->patches);
    EXPECT_EQ(outcome.gained.voxels, voxels(said->output.n));
    test::expect_slabs_as_said(outcome, *said);
    const oracle::Values exact = blended_oracle(net_, window_, test::volume_values(volume.view(), {}), n, blend);
    return test::relative_error(test::output_values(outcome), exact);
  }

  [[nodiscard]] Result<JobEstimate> estimate(Vec3 n) const {
    return engine_->estimate({net_.network.f_in, n, ElementType::f32}, ElementType::f32, saturated);
  }

  std::unique_ptr<Random> random_;
  PaddedNetwork net_;
  LoadedNetwork valid_;
  Vec3 window_;
  EngineBench made_;
  std::unique_ptr<Engine> engine_;
};

TEST_F(TileBoundNetworks, EqualTheirDefinition) {
  for (int i = 0; i < test::case_count(40); ++i) {
    const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
    open(seed);
    SCOPED_TRACE("ZNNI_TEST_SEED=" + std::to_string(seed) + test::in_words(valid_.network));
    EXPECT_LE(test::error_of(*engine_, net_, window_, *random_), 2e-5) << to_string(window_);
    if (HasFailure()) return;
  }
}

// Draws a volume of no legal extent: a window more or less along each axis, and some voxels.
Vec3 any_volume(const Network& network, Vec3 window, Random& random) {
  Vec3 n = window;
  for (int axis = 0; axis < 3; ++axis) {
    const bool may_be_smaller = lost_extent(network)[axis] == 1;
    n[axis] += random.integer(may_be_smaller ? 1 - std::min<std::int64_t>(window[axis], 4) : 0, window[axis]);
  }
  return n;
}

TEST_F(TileBoundNetworks, BlendWindowsOverOtherVolumes) {
  for (int i = 0; i < test::case_count(20); ++i) {
    const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
    open(seed, static_cast<int>(random_sockets(seed)));
    SCOPED_TRACE("ZNNI_TEST_SEED=" + std::to_string(seed) + test::in_words(valid_.network));
    const WindowBlend blend{random_->chance(0.7) ? WindowWeight::gaussian : WindowWeight::constant,
                            0.25 * static_cast<double>(random_->integer(0, 3))};
    engine_->blend_windows(blend);
    const Vec3 n = any_volume(valid_.network, window_, *random_);
    EXPECT_LE(blended_error(n, blend), 2e-5) << to_string(window_) << " over " << to_string(n);
    if (HasFailure()) return;
  }
}

// Its extents are all that a client says of it at first.
TEST_F(TileBoundNetworks, PredictAHugeVolumeWithoutAListOfItsWindows) {
  open(test::base_seed());
  const Result<JobEstimate> said = estimate(Vec3::cube(std::int64_t{1} << 18));
  ASSERT_TRUE(said) << said.error().message;
  EXPECT_GT(said->patches, std::int64_t{1} << 30);
  EXPECT_GT(said->list_bytes, said->patches);
}

TEST_F(TileBoundNetworks, BeginAtTheFirstPlane) {
  open(test::base_seed());
  const test::RandomVolume volume = test::random_volume(net_.network.f_in, window_, ElementType::f32, *random_);
  test::JobOutcome outcome;
  VolumeJob job = test::recorded_job(volume.view(), estimate(window_)->output, ElementType::f32,
                                     VolumeOrder::channel_major, outcome);
  job.sink.first_plane = 1;
  const Result<JobStatistics> ran = engine_->run(job, {});
  ASSERT_FALSE(ran);
  EXPECT_THAT(ran.error().message, HasSubstr("the job's first plane is 1; 0 is right"));
}

TEST_F(TileBoundNetworks, APlanOfAnotherWindowIsRefused) {
  open(test::base_seed());
  Network other = valid_.network;
  other.window = window_ + period(other);
  const auto checked = design_ladder(other, made_.plan, made_.catalogue, made_.device->spec(), nullptr);
  ASSERT_FALSE(checked);
  EXPECT_THAT(checked.error().message, HasSubstr("rung 0: it computes windows of " + to_string(window_)));
  other.window = window_;
  EXPECT_TRUE(design_ladder(other, made_.plan, made_.catalogue, made_.device->spec(), nullptr));
}

TEST_F(TileBoundNetworks, APlanOfSeveralRungsIsRefused) {
  open(test::base_seed());
  Plan plan = made_.plan;
  plan.ladder.push_back(plan.ladder.front());
  const auto checked = design_ladder(valid_.network, plan, made_.catalogue, made_.device->spec(), nullptr);
  ASSERT_FALSE(checked);
  EXPECT_THAT(checked.error().message, HasSubstr("the ladder has 2 rungs; a network that is bound to its window"));
}

// Plans that the search makes.
TEST(TileBoundPlans, SearchedOnesEqualTheDefinition) {
  const Backend* const rows[] = {&cpu::backend()};
  const Catalogue catalogue = Catalogue::make(rows).value();
  const std::unique_ptr<Device> device = cpu::backend().open(cpu::describe_cpu(2), std::int64_t{1} << 31, 0, 0).value();
  const std::unique_ptr<CostSource> costs = modelled_costs();
  for (int i = 0; i < test::case_count(15); ++i) {
    const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
    Random random(seed);
    const PaddedNetwork net = random_bound_network(random);
    LoadedNetwork valid = test::valid_form(net, random.chance(0.7));
    SCOPED_TRACE("ZNNI_TEST_SEED=" + std::to_string(seed) + test::in_words(valid.network));
    const Vec3 n = test::random_extent(valid.network, random);
    SearchOptions options;
    options.memory_limit = std::int64_t{1} << 28;
    if (random.chance(0.5)) {
      valid.network.window = n;
    } else {
      options.volume = framed(valid.network, n);
    }
    const Result<Plan> plan = search(valid.network, device->spec(), catalogue, *costs, options);
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_EQ(plan->ladder.size(), 1U);
    const Result<std::unique_ptr<Engine>> engine =
        Engine::open(valid.network, valid.weights, *plan, catalogue, *device);
    ASSERT_TRUE(engine) << engine.error().message;
    EXPECT_LE(test::error_of(**engine, net, n, random), 2e-5) << to_string(n);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace znni
