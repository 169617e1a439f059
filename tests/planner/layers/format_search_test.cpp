#include "planner/layers/format_search.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

#include "planner/layers/schedule.hpp"
#include "planner/plan/pairs.hpp"
#include "tests/planner/drawn_primitives.hpp"

namespace znni {
namespace {

// Returns the text from which times are drawn, of a stream also from the planes before.
std::string text_of(const LayerProblem& problem) {
  const auto* const conv = std::get_if<ConvProblem>(&problem);
  if (conv == nullptr) return to_string(problem);
  return to_string(problem) + " behind " + std::to_string(conv->before.in) + ", " + std::to_string(conv->before.out);
}

Estimate estimate_of(const LayerProblem& problem, Format in, Format out, std::int64_t salt) {
  Estimate estimate{{{"salt", salt}}, in, out, 0.1 + drawn::draw(text_of(problem), salt), {}};
  estimate.memory = input_output_buffers(problem, in, out, 0, MemorySpace::device);
  return estimate;
}

// Describes any layer from and to every format, with a time drawn for each; some ways do not exist.
Result<std::vector<Estimate>> describe_any(const LayerProblem& problem, const DeviceSpec&) {
  if (std::holds_alternative<ReorderProblem>(problem)) return Error{ErrorCode::unsupported, "a reorder"};
  std::vector<Estimate> estimates;
  std::int64_t salt = 0;
  for (const Format in : all_edge_formats) {
    for (const Format out : all_edge_formats) {
      const bool exists = (in == Format{} && out == Format{}) || drawn::draw(text_of(problem), 50 + salt) < 0.6;
      if (exists) estimates.push_back(estimate_of(problem, in, out, salt));
      ++salt;
    }
  }
  return estimates;
}
Result<std::vector<Estimate>> describe_copy(const LayerProblem& problem, const DeviceSpec&) {
  const auto* reorder = std::get_if<ReorderProblem>(&problem);
  if (reorder == nullptr) return Error{ErrorCode::unsupported, "no reorder"};
  Estimate estimate = estimate_of(problem, reorder->from, reorder->to, 77);
  estimate.variant.clear();
  estimate.time /= 3;
  return std::vector<Estimate>{estimate};
}
constinit const Primitive any{"card.any", 1, DeviceKind::gpu, describe_any, drawn::never_prepared};
constinit const Primitive copying{"card.reorder", 1, DeviceKind::gpu, describe_copy, drawn::never_prepared};
constexpr std::array<const Primitive*, 2> both = {&any, &copying};

Catalogue catalogue_of(std::span<const Primitive* const> primitives) {
  const Backend backend{"card", nullptr, nullptr, primitives};
  const std::array<const Backend*, 1> backends = {&backend};
  return Catalogue::make(backends).value();
}

DeviceSpec gpu_spec() {
  DeviceSpec spec;
  spec.kind = DeviceKind::gpu;
  return spec;
}

Seconds keeping(int value, Format format) { return 0.05 * value * (format == last_bf16 ? 0.5 : 1.0); }

// A net, the geometry of its smallest patch, and what is searched.
struct Bench {
  explicit Bench(Network net, std::span<const Primitive* const> primitives = both, bool streamed = false)
      : network(std::move(net)), catalogue(catalogue_of(primitives)) {
    const std::vector<PoolingMode> modes(pooling_nodes(network).size(), PoolMode::fragments);
    Vec3 input;
    for (int axis = 0; axis < 3; ++axis) input[axis] = legal_extents(network, modes, axis, 40).front();
    if (streamed) input.z = 4;
    geometry = make_geometry(network, {input, 1, modes, 0, streamed}).value();
    left_out.resize(geometry.values.size());
  }
  // Lets a pair leave out the value.
  void leave_out(int value) {
    left_out[static_cast<std::size_t>(value)] = true;
    geometry = with_pairs(network, std::move(geometry), left_out);
  }
  [[nodiscard]] FormatProblem problem(Precision precision) const {
    return {network, geometry, DeviceKind::gpu, left_out, precision, keeping};
  }

  Network network;
  Catalogue catalogue;
  Geometry geometry;
  std::vector<bool> left_out;
  DeviceSpec spec = gpu_spec();
  std::unique_ptr<CostSource> costs = modelled_costs();
  FastestWays ways{DeviceKind::gpu, spec, catalogue, *costs, Precision::bf16};
};

Seconds seconds_of(const std::vector<LayerWay>& ways, Format in, Format native) {
  for (const LayerWay& way : ways) {
    if (way.in == in && way.native == native) return way.seconds;
  }
  return std::numeric_limits<double>::infinity();
}

// Returns the least time that leaves the values in these formats.
Seconds with_formats(Bench& bench, const std::vector<Format>& formats, Precision precision) {
  const std::span<const Format> allowed = edge_formats(precision);
  const auto reordered = [&](const Shape5& shape, Format from, Format to) {
    return from == to ? 0 : seconds_of(bench.ways.in_formats(ReorderProblem{shape, from, to}, precision), from, to);
  };
  Seconds sum = reordered(bench.geometry.values.front(), {}, formats.front()) + keeping(0, formats.front());
  for (std::size_t node = 0; node < bench.network.nodes.size(); ++node) {
    const auto first = static_cast<int>(node);
    const std::vector<int>& inputs = bench.network.nodes[node].inputs;
    const bool is_pair = bench.left_out[node + 1];
    if (is_pair) ++node;
    Seconds least = std::numeric_limits<double>::infinity();
    for (const Format native : allowed) {
      const LayerProblem problem =
          is_pair ? pair_problem(bench.network, bench.geometry, first).value()
                  : problem_on(DeviceKind::gpu, bench.network, bench.geometry, first, native != formats[node + 1]);
      const Format in = formats[static_cast<std::size_t>(inputs.front())];
      bool agree = true;
      for (int i = 0; i < static_cast<int>(inputs.size()); ++i) {
        agree = agree && formats[static_cast<std::size_t>(inputs[static_cast<std::size_t>(i)])] ==
                             input_format(problem, i, in, native);
      }
      if (!agree) continue;
      least = std::min(least, seconds_of(bench.ways.in_formats(problem, precision), in, native) +
                                  reordered(output_shape(problem), native, formats[node + 1]));
    }
    sum += least + keeping(static_cast<int>(node) + 1, formats[node + 1]);
  }
  return sum;
}

// Returns the least time over every format of every value.
Seconds by_brute_force(Bench& bench, Precision precision) {
  const std::span<const Format> allowed = edge_formats(precision);
  std::vector<Format> formats(bench.geometry.values.size());
  Seconds best = std::numeric_limits<double>::infinity();
  const auto count = static_cast<std::int64_t>(std::pow(allowed.size(), formats.size() - 1) + 0.5);
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t rest = i;
    for (std::size_t value = 0; value + 1 < formats.size(); ++value) {
      formats[value] = allowed[static_cast<std::size_t>(rest) % allowed.size()];
      rest /= std::ssize(allowed);
    }
    best = std::min(best, with_formats(bench, formats, precision));
  }
  return best;
}

// Expects that the engine takes the steps.
void expect_runs(const Bench& bench, const FormatChoice& choice) {
  const Result<Schedule> schedule =
      make_schedule(bench.network, bench.geometry, choice.steps, bench.catalogue, bench.spec);
  ASSERT_TRUE(schedule) << schedule.error().message;
  Seconds sum = 0;
  for (const Call& call : schedule->calls) sum += call.estimate.time;
  for (int value = 0; value < static_cast<int>(bench.geometry.values.size()); ++value) {
    if (bench.left_out[static_cast<std::size_t>(value)]) continue;
    const bool input = value == 0 && choice.steps.front().node == 0;
    const std::size_t first = choice.steps.front().node < 0 ? 0 : 1;
    sum += keeping(value, input ? Format{} : choice.steps[static_cast<std::size_t>(value) - first].out);
  }
  EXPECT_NEAR(choice.seconds, sum, 1e-9);
}

TEST(FormatSearch, EqualsBruteForce) {
  int with_reorders = 0;
  for (int i = 0; i < 12; ++i) {
    for (const Network& like : {drawn::chain(), drawn::branches(), drawn::residuals()}) {
      Network network = like;
      network.f_in = 1 + i;  // other problems: other times
      Bench bench(network);
      Seconds before = std::numeric_limits<double>::infinity();
      for (const Precision precision : {Precision::fp32, Precision::tf32, Precision::bf16}) {
        const FormatProblem problem = bench.problem(precision);
        FormatSearch search(problem, bench.ways);
        const Result<FormatChoice> found = search.best();
        ASSERT_TRUE(found) << found.error().message;
        EXPECT_NEAR(found->seconds, by_brute_force(bench, precision), 1e-9);
        EXPECT_LE(found->seconds, before) << "more formats are never slower";
        EXPECT_LE(search.least([](Seconds) { return false; }).value(), found->seconds);
        expect_runs(bench, *found);
        before = found->seconds;
        for (const Step& step : found->steps) {
          EXPECT_LE(precision_of(step), precision);
          with_reorders += step.reorder.empty() ? 0 : 1;
        }
      }
    }
  }
  EXPECT_GT(with_reorders, 0);
}

TEST(FormatSearch, OfAStreamAndOfAPairEqualsBruteForceToo) {
  for (int i = 0; i < 12; ++i) {
    for (const Network& like : {drawn::chain(), drawn::branches(), drawn::residuals()}) {
      Network network = like;
      network.f_in = 1 + i;
      const bool pools = std::holds_alternative<Pooling>(network.nodes[1].operation);
      Bench bench(std::move(network), both, true);
      if (pools && i % 2 == 1) bench.leave_out(1);
      const FormatProblem problem = bench.problem(Precision::bf16);
      const Result<FormatChoice> found = FormatSearch(problem, bench.ways).best();
      ASSERT_TRUE(found) << found.error().message;
      EXPECT_NEAR(found->seconds, by_brute_force(bench, Precision::bf16), 1e-9);
      expect_runs(bench, *found);
    }
  }
}

TEST(FormatSearch, WithoutReordersLayersMustAgree) {
  const std::array<const Primitive*, 1> alone = {&any};
  Bench bench(drawn::chain(), alone);
  const FormatProblem problem = bench.problem(Precision::bf16);
  FormatSearch search(problem, bench.ways);
  const Result<FormatChoice> found = search.best();
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->steps.front().node, 0);
  for (const Step& step : found->steps) EXPECT_EQ(step.native, step.out);
}

TEST(FormatSearch, NamesTheLayerThatNothingComputes) {
  const std::array<const Primitive*, 1> alone = {&copying};
  Bench bench(drawn::chain(2), alone);
  const FormatProblem problem = bench.problem(Precision::tf32);
  FormatSearch search(problem, bench.ways);
  EXPECT_NE(search.best().error().message.find("no primitive computes conv"), std::string::npos);
  EXPECT_FALSE(search.least([](Seconds) { return false; }));
}

// Describes convolutions that write planar tensors last of all, and concatenations that read nothing else.
Result<std::vector<Estimate>> describe_tempting(const LayerProblem& problem, const DeviceSpec&) {
  if (std::holds_alternative<ConcatProblem>(problem)) return std::vector{estimate_of(problem, {}, {}, 1)};
  if (!std::holds_alternative<ConvProblem>(problem)) return Error{ErrorCode::unsupported, "neither of them"};
  std::vector<Estimate> estimates;
  for (const Format out : all_edge_formats) {
    estimates.push_back(estimate_of(problem, {}, out, std::ssize(estimates)));
    estimates.back().time = out == Format{} ? 10 : 1;
  }
  return estimates;
}
constinit const Primitive tempting{"card.tempting", 1, DeviceKind::gpu, describe_tempting, drawn::never_prepared};

TEST(FormatSearch, BeyondSixValuesAliveThePlanarEndIsNotLost) {
  Network network;
  Node all{"all", Concat{}, {}};
  for (int i = 1; i <= 7; ++i) {
    network.nodes.push_back({"conv" + std::to_string(i), drawn::convolution(i, Vec3::cube(1)), {0}});
    all.inputs.push_back(i);
  }
  network.nodes.push_back(std::move(all));
  const std::array<const Primitive*, 1> alone = {&tempting};
  Bench bench(std::move(network), alone);
  const FormatProblem problem = bench.problem(Precision::bf16);
  const Result<FormatChoice> found = FormatSearch(problem, bench.ways).best();
  ASSERT_TRUE(found) << found.error().message;
  for (const Step& step : found->steps) EXPECT_EQ(step.out, Format{});
  expect_runs(bench, *found);
}

TEST(FormatSearch, StopsAtWhatIsEnough) {
  Bench bench(drawn::chain());
  const FormatProblem problem = bench.problem(Precision::bf16);
  FormatSearch search(problem, bench.ways);
  const Seconds whole = search.least([](Seconds) { return false; }).value();
  EXPECT_LT(search.least([](Seconds) { return true; }).value(), whole);
}

}  // namespace
}  // namespace znni
