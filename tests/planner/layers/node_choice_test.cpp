#include "planner/layers/node_choice.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "planner/layers/schedule.hpp"
#include "tests/planner/drawn_primitives.hpp"

namespace znni {
namespace {

// Returns the bytes alive in the worst stage, every buffer in whole aligned blocks: what pack() cannot go below.
std::int64_t aligned_peak(MemoryPlan plan) {
  for (Buffer& buffer : plan) buffer.bytes = round_up(buffer.bytes, buffer_alignment);
  return peak(plan);
}

struct Case {
  std::string name;
  Network network;
  PoolingMode mode;
  std::int64_t S = 2;
  std::int64_t stem_slab = 0;
  bool streamed = false;
};

class PlannerNodeChoice : public testing::TestWithParam<Case> {
 protected:
  PlannerNodeChoice() {
    const std::vector<PoolingMode> modes(pooling_nodes(network_).size(), GetParam().mode);
    Vec3 input = Vec3::cube(8);
    for (int axis = 0; axis < 3; ++axis) input[axis] = legal_extents(network_, modes, axis, input[axis]).back();
    if (GetParam().streamed) input.z = 4;
    geometry_ = *make_geometry(network_, {input, GetParam().S, modes, GetParam().stem_slab, GetParam().streamed});
    use_ = network_use(network_, geometry_);
    for (std::size_t node = 0; node < geometry_.problems.size(); ++node) {
      const Vec3 around = around_output(geometry_, static_cast<int>(node));
      options_.nodes.push_back(&table_.get(geometry_.problems[node], use_.uses[node], nullptr, around));
    }
  }

  std::vector<Assignment> combined(const ChoiceLimits& limits = {}) {
    return combine(use_, geometry_, options_, table_, limits);
  }

  // Counts the questions that combining asks, until one is answered with yes.
  int questions(int most, std::size_t& found) {
    int asked = 0;
    const StopQuestion stop([&] { return ++asked >= most; });
    found = combine(use_, geometry_, options_, table_, {}, stop).size();
    return asked;
  }

  std::vector<Step> steps(const Assignment& assignment) const {
    std::vector<Step> all;
    if (assignment.input_reorder != nullptr) {
      const LayerOption& reorder = *assignment.input_reorder;
      all.push_back({-1, "", 0, {}, reorder.in, reorder.in, reorder.out, "drawn.reorder", {}, 0, Basis::model});
    }
    for (std::size_t node = 0; node < assignment.nodes.size(); ++node) {
      const auto& [option, reorder] = assignment.nodes[node];
      const auto estimates = option->primitive->describe(geometry_.problems[node], spec_);
      const Estimate& estimate = (*estimates)[static_cast<std::size_t>(option->estimate)];
      all.push_back({static_cast<int>(node),
                     std::string(option->primitive->name),
                     option->primitive->version,
                     estimate.variant,
                     option->in,
                     option->out,
                     reorder == nullptr ? option->out : reorder->out,
                     reorder == nullptr ? "" : "drawn.reorder",
                     {},
                     0,
                     Basis::model});
    }
    return all;
  }

  Network network_ = GetParam().network;
  Catalogue catalogue_ = drawn::catalogue();
  DeviceSpec spec_;
  std::unique_ptr<CostSource> costs_ = modelled_costs();
  OptionTable table_{catalogue_, spec_, *costs_};
  NetworkUse use_;
  Geometry geometry_;
  GeometryOptions options_;
};

TEST_P(PlannerNodeChoice, NumbersAreThoseOfTheSchedule) {
  const std::vector<Assignment> assignments = combined();
  ASSERT_GT(assignments.size(), 1U);
  for (const Assignment& assignment : assignments) {
    const Result<Schedule> schedule = make_schedule(network_, geometry_, steps(assignment), catalogue_, spec_);
    ASSERT_TRUE(schedule) << schedule.error().message;
    EXPECT_EQ(assignment.transient, aligned_peak(schedule->memory));
    EXPECT_EQ(assignment.persistent, persistent_bytes(schedule->memory));
    Seconds seconds = 0;
    const bool reorders_first = assignment.input_reorder != nullptr;
    for (const Call& call : schedule->calls) {
      const int node = call.step - (reorders_first ? 1 : 0);
      const std::int64_t runs = node < 0 ? geometry_.windows : geometry_.runs[static_cast<std::size_t>(node)];
      seconds += static_cast<double>(runs) * call.estimate.time;
    }
    EXPECT_NEAR(assignment.seconds, seconds, 1e-12);
  }
}

TEST_P(PlannerNodeChoice, RisesInTimeAndNoneBeatsAnother) {
  const std::vector<Assignment> all = combined();
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      EXPECT_LE(all[j].seconds, all[i].seconds);
      EXPECT_TRUE(all[i].persistent < all[j].persistent || all[i].transient < all[j].transient);
    }
  }
}

TEST_P(PlannerNodeChoice, LimitsCutAndNothingElse) {
  const std::vector<Assignment> all = combined();
  const Assignment& middle = all[all.size() / 2];
  const auto kept = [&](const ChoiceLimits& limits) {
    std::vector<Seconds> seconds;
    for (const Assignment& assignment : combined(limits)) seconds.push_back(assignment.seconds);
    return seconds;
  };
  const auto expected = [&](const auto& fits) {
    std::vector<Seconds> seconds;
    for (const Assignment& assignment : all) {
      if (fits(assignment)) seconds.push_back(assignment.seconds);
    }
    return seconds;
  };
  const std::int64_t total = middle.persistent + middle.transient;
  EXPECT_EQ(kept({total, saturated, saturated}),
            expected([&](const Assignment& a) { return a.persistent + a.transient <= total; }));
  EXPECT_EQ(kept({saturated, middle.persistent, saturated}),
            expected([&](const Assignment& a) { return a.persistent <= middle.persistent; }));
  EXPECT_EQ(kept({saturated, saturated, middle.transient}),
            expected([&](const Assignment& a) { return a.transient <= middle.transient; }));
  ChoiceLimits quick;
  quick.seconds = middle.seconds;
  EXPECT_EQ(kept(quick), expected([&](const Assignment& a) { return a.seconds < middle.seconds; }));
}

const PoolingMode held = {{2, 1, 1}, true};
const PoolingMode recompute = {{2, 1, 1}, false};
const PoolingMode rows_recompute = {{1, 2, 1}, false};

TEST_P(PlannerNodeChoice, AStopAtAnyQuestionEndsItWithNone) {
  std::size_t found = 0;
  const int all = questions(std::numeric_limits<int>::max(), found);
  EXPECT_EQ(found, combined().size());
  EXPECT_GT(all, 3 * static_cast<int>(network_.nodes.size() + found)) << "asked for nodes and for combinations";
  for (int most = 1; most <= all; most += 1 + most / 7) {
    EXPECT_EQ(questions(most, found), most);
    EXPECT_EQ(found, 0U);
  }
}

INSTANTIATE_TEST_SUITE_P(Nets, PlannerNodeChoice,
                         testing::Values(Case{"chain", drawn::chain(), PoolMode::fragments},
                                         Case{"branches", drawn::branches(), PoolMode::fragments},
                                         Case{"residuals", drawn::residuals(), PoolMode::fragments},
                                         Case{"held", drawn::chain(), held},
                                         Case{"recompute", drawn::chain(), recompute},
                                         Case{"stem", drawn::chain(), PoolMode::fragments, 1, 1},
                                         Case{"stem_recompute", drawn::chain(), recompute, 1, 2},
                                         Case{"stream", drawn::chain(), PoolMode::fragments, 1, 0, true},
                                         Case{"stream_held", drawn::chain(), held, 1, 0, true},
                                         Case{"stream_recompute", drawn::chain(), rows_recompute, 1, 0, true},
                                         Case{"stream_stem", drawn::chain(), PoolMode::fragments, 1, 1, true},
                                         Case{"stream_branches", drawn::branches(), PoolMode::fragments, 1, 0, true},
                                         Case{"stream_residuals", drawn::residuals(), PoolMode::fragments, 1, 0, true}),
                         [](const auto& net) { return net.param.name; });

TEST(PlannerNetworkUse, TellsWhatLivesOn) {
  const NetworkUse use = network_use(drawn::branches());
  // conv1 -> value 1, read by left, sum and all; left -> 2; sum -> 3; all -> 4; last -> 5.
  EXPECT_EQ(use.readers[1], (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(use.uses[2], (std::vector<InputUse>{{0, false}, {1, true}}));
  EXPECT_EQ(use.read_on[2], (std::vector<int>{1}));
  EXPECT_EQ(use.uses[3], (std::vector<InputUse>{{0, true}, {1, true}}));
  EXPECT_EQ(use.live_after[1], (std::vector<int>{1, 2}));
  EXPECT_EQ(use.live_after[4], (std::vector<int>{5}));
  EXPECT_TRUE(use.live_through[2].empty());
}

TEST(PlannerNetworkUse, TheSameValueTwiceIsOneTensor) {
  Network network;
  network.nodes = {{"twice", Add{}, {0, 0}}, {"all", Concat{}, {1, 0}}};
  const NetworkUse use = network_use(network);
  EXPECT_EQ(use.uses[0], (std::vector<InputUse>{{0, false}, {0, false}}));
  EXPECT_EQ(use.read_on[0], (std::vector<int>{0}));
  EXPECT_EQ(use.readers[0], (std::vector<int>{0, 1}));
}

// Returns levels of a U-Net, whose skips are alive together.
Network many_skips(int levels) {
  Network network;
  int last = 0;
  for (int level = 0; level < levels; ++level) {
    network.nodes.push_back({"down" + std::to_string(level), Convolution{8, Vec3::cube(1), Vec3::cube(1), {}}, {last}});
    last = static_cast<int>(network.nodes.size());
  }
  for (int level = levels - 1; level > 0; --level) {
    network.nodes.push_back({"join" + std::to_string(level), Concat{}, {level, last}});
    network.nodes.push_back({"up" + std::to_string(level),
                             Convolution{8, Vec3::cube(1), Vec3::cube(1), {}},
                             {static_cast<int>(network.nodes.size())}});
    last = static_cast<int>(network.nodes.size());
  }
  return network;
}

TEST(PlannerNodeChoiceOfManyBranches, IsCutAndItsCombinationsRun) {
  const Network network = many_skips(12);
  const Catalogue catalogue = drawn::catalogue();
  const DeviceSpec spec;
  const std::unique_ptr<CostSource> costs = modelled_costs();
  OptionTable table{catalogue, spec, *costs};
  const Geometry geometry = *make_geometry(network, {Vec3::cube(8), 1, {}});
  const NetworkUse use = network_use(network, geometry);
  GeometryOptions options;
  Seconds least = 0;
  for (std::size_t node = 0; node < geometry.problems.size(); ++node) {
    options.nodes.push_back(&table.get(geometry.problems[node], use.uses[node]));
    Seconds own = std::numeric_limits<double>::infinity();
    for (const LayerOption& option : *options.nodes.back()) own = std::min(own, option.cost.seconds);
    least += own;
  }
  bool cut = false;
  const std::vector<Assignment> found = combine(use, geometry, options, table, {}, StopQuestion({}), &cut);
  EXPECT_TRUE(cut);
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found.front().nodes.size(), network.nodes.size());
  EXPECT_LT(found.front().seconds, 2 * least);
  // Little memory is met as well: the leanest labels go on, too.
  ChoiceLimits limits;
  limits.total = found.back().persistent + found.back().transient;
  EXPECT_FALSE(combine(use, geometry, options, table, limits).empty());
}

}  // namespace
}  // namespace znni
