#include "planner/train/step_search.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "primitives/core/index.hpp"
#include "primitives/core/refusals.hpp"
#include "tests/planner/train/cpu_parts.hpp"
#include "tests/support/random.hpp"

namespace znni {
namespace {

using test::Random;

std::uint64_t drawing = 1;  // what the drawn primitives draw from, beside the problem

// Up to two ways between drawn formats, with drawn times and scratch.
template <class Buffers>
std::vector<Estimate> drawn(const std::string& text, const Buffers& buffers) {
  Random random(drawing + std::hash<std::string>()(text));
  std::vector<Estimate> estimates;
  const auto format = [&] { return random.chance(0.5) ? Format{} : Format{ElementType::f32, Layout::blocked8}; };
  for (std::int64_t i = random.integer(1, 2); i > 0; --i) {
    Estimate estimate;
    estimate.in = format();
    estimate.out = format();
    estimate.time = static_cast<double>(random.integer(1, 20));
    estimate.memory = buffers(estimate.in, estimate.out);
    estimate.memory.push_back({"scratch", MemorySpace::host, random.integer(1, 8) * 1024, Lifetime::stages(0, 0)});
    estimates.push_back(std::move(estimate));
  }
  return estimates;
}

Result<std::vector<Estimate>> describe_layer(const LayerProblem& problem, const DeviceSpec&) {
  if (const auto* reorder = std::get_if<ReorderProblem>(&problem)) {
    Estimate estimate{{}, reorder->from, reorder->to, 1.0, input_output_buffers(problem, reorder->from, reorder->to)};
    return std::vector<Estimate>{estimate};
  }
  return drawn(to_string(problem), [&](Format in, Format out) { return input_output_buffers(problem, in, out); });
}

Result<std::vector<Estimate>> describe_gradient(const GradientProblem& problem, const DeviceSpec&) {
  std::vector<Estimate> estimates =
      drawn(to_string(problem), [&](Format in, Format out) { return gradient_buffers(problem, in, out); });
  if (problem.of == GradientOf::weights) {
    for (Estimate& estimate : estimates) estimate.out = {};
  }
  return estimates;
}

constexpr Primitive drawn_layer{"cpu.drawn", 1, DeviceKind::cpu, &describe_layer, nullptr};
constexpr GradientPrimitive drawn_gradient{"cpu.grad.drawn", 1, DeviceKind::cpu, &describe_gradient, nullptr};
const Primitive* const layers[] = {&drawn_layer};
const GradientPrimitive* const gradients[] = {&drawn_gradient};
const Backend drawn_backend{"drawn", nullptr, nullptr, layers};
const Backend* const backends[] = {&drawn_backend};

std::int64_t whole_peak(const StepLine& line) {
  MemoryPlan memory = line.memory();
  for (Buffer& buffer : memory) buffer.bytes = round_up(buffer.bytes, buffer_alignment);
  return peak(memory);
}

Network two_convs(Random& random) {
  Network net;
  net.f_in = random.integer(1, 9);
  net.nodes = {{"a", Convolution{random.integer(1, 9), random.vec3(1, 2), Vec3::cube(1), {}}, {0}},
               {"b", Convolution{random.integer(1, 9), random.vec3(1, 2), Vec3::cube(1), {}}, {1}}};
  return net;
}

// Tries every format of every free tensor and every way of every work, and of every two that may be done at once.
class BruteForce {
 public:
  BruteForce(const StepGraph& graph, const StepParts& parts) : graph_(graph), reorders_(parts) {
    const std::size_t works = graph.works.size();
    for (const StepWork& work : graph.works) ways_.push_back(step_ways(work, parts).value());
    for (std::size_t i = 0; i < works; ++i) {
      both_.push_back(i + 1 < works ? both_gradients(graph.works[i], graph.works[i + 1]) : std::nullopt);
      ways_of_both_.push_back(both_[i] ? step_ways(*both_[i], parts).value() : std::vector<StepWay>());
    }
    formats_.assign(graph.tensors.size(), Format{});
    try_formats(1);
  }

  [[nodiscard]] double best(std::int64_t limit) const {
    double least = std::numeric_limits<double>::infinity();
    for (const auto& [peak, seconds] : found_) {
      if (peak <= limit) least = std::min(least, seconds);
    }
    return least;
  }
  [[nodiscard]] const std::map<std::int64_t, double>& found() const { return found_; }

 private:
  void try_formats(int tensor) {
    if (index(tensor) == formats_.size()) return try_ways(0, start(), 0.0);
    for (const Layout layout : {Layout::planar, Layout::blocked8}) {
      if (layout != Layout::planar && (tensor == graph_.output || tensor == graph_.output_gradient)) continue;
      formats_[index(tensor)].layout = layout;
      try_formats(tensor + 1);
    }
  }

  [[nodiscard]] StepLine start() const {
    StepLine line;
    for (std::size_t i = 0; i < formats_.size(); ++i) line.add_tensor("", graph_.tensors[i].shape, formats_[i]);
    line.bring(0);
    return line;
  }

  void try_ways(std::size_t work, const StepLine& line, double seconds) {
    if (work == graph_.works.size()) {
      const auto [found, is_new] = found_.try_emplace(whole_peak(line), seconds);
      if (!is_new) found->second = std::min(found->second, seconds);
      return;
    }
    try_work(graph_.works[work], ways_[work], work + 1, line, seconds);
    if (both_[work]) try_work(*both_[work], ways_of_both_[work], work + 2, line, seconds);
  }

  void try_work(const StepWork& work, const std::vector<StepWay>& ways, std::size_t next, const StepLine& line,
                double seconds) {
    for (const StepWay& way : ways) {
      StepLine longer = line;
      const std::optional<Seconds> more = append(work, way, reorders_, longer);
      if (more) try_ways(next, longer, seconds + *more);
    }
  }

  const StepGraph& graph_;
  Reorders reorders_;
  std::vector<std::vector<StepWay>> ways_;
  std::vector<std::optional<StepWork>> both_;  // per work: that which does the next one, too
  std::vector<std::vector<StepWay>> ways_of_both_;
  std::vector<Format> formats_;
  std::map<std::int64_t, double> found_;  // least seconds by peak
};

TEST(StepSearch, FindsTheFastestOfAllStepsWithinEveryLimit) {
  const Catalogue catalogue = Catalogue::make(backends).value();
  DeviceSpec device;
  device.kind = DeviceKind::cpu;
  const StepParts parts{catalogue, gradients, device, nullptr};
  int at_once = 0;
  int apart = 0;
  for (int i = 0; i < test::case_count(30); ++i) {
    drawing = test::base_seed() + static_cast<std::uint64_t>(i);
    SCOPED_TRACE("ZNNI_TEST_SEED=" + std::to_string(drawing));
    Random random(drawing);
    const Network net = two_convs(random);
    const Geometry geometry = make_geometry(net, {Vec3::cube(4), 1, {}}).value();
    const StepGraph graph = make_step_graph(net, geometry);
    const BruteForce all(graph, parts);
    StepSearch search = StepSearch::make(graph, parts).value();
    ASSERT_FALSE(all.found().empty());
    for (const auto& [peak, seconds] : all.found()) {
      const std::optional<StepChoice> choice = search.best(peak);
      ASSERT_TRUE(choice);
      (choice->calls.size() < graph.works.size() ? at_once : apart) += 1;
      EXPECT_DOUBLE_EQ(choice->seconds, all.best(peak));
      EXPECT_LE(choice->peak, peak);
      EXPECT_EQ(whole_peak(search.line_of(*choice)), choice->peak);
    }
    EXPECT_FALSE(search.best(all.found().begin()->first - 1));
    EXPECT_EQ(search.smallest().value().peak, all.found().begin()->first);
  }
  if (test::case_count(30) < 30) return;
  EXPECT_GT(at_once, 0);
  EXPECT_GT(apart, 0);
}

// So many tensors that not all combinations are tried.
TEST(StepSearch, LargerLimitsGiveNoSlowerSteps) {
  const StepParts parts = test::cpu_parts(1);
  Network net;
  for (int i = 0; i < 8; ++i) {
    net.nodes.push_back({"conv" + std::to_string(i),
                         Convolution{i % 2 == 0 ? 20 : 3, Vec3::cube(2), Vec3::cube(1), {ActivationKind::relu, 0.0F}},
                         {i}});
  }
  const StepGraph graph = make_step_graph(net, make_geometry(net, {Vec3::cube(20), 1, {}}).value());
  StepSearch search = StepSearch::make(graph, parts).value();
  const StepChoice smallest = search.smallest().value();
  const StepChoice fastest = search.best(saturated).value();
  EXPECT_LE(fastest.seconds, smallest.seconds);
  Seconds before = smallest.seconds;
  for (std::int64_t limit = smallest.peak; limit < 2 * fastest.peak; limit += limit / 16) {
    const std::optional<StepChoice> choice = search.best(limit);
    ASSERT_TRUE(choice);
    EXPECT_LE(choice->seconds, before);
    EXPECT_LE(choice->peak, limit);
    EXPECT_EQ(whole_peak(search.line_of(*choice)), choice->peak);
    before = choice->seconds;
  }
  EXPECT_EQ(before, fastest.seconds);
}

}  // namespace
}  // namespace znni
