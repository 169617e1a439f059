#include "planner/search/search_bound.hpp"

#include <array>

#include "tests/planner/drawn_search.hpp"

namespace znni {
namespace {

class PlannerSearchBound : public test::DrawnSearch {
 protected:
  double best_rate() { return best().predicted.voxels_per_second; }
};

// Takes as long as its input is large: the longer a patch, the less of it is border, and each doubling gains less.
Result<std::vector<Estimate>> describe_by_input(const LayerProblem& problem, const DeviceSpec&) {
  const Shape5 input = input_shape(problem, 0);
  Estimate estimate;
  estimate.variant = {{"any", 1}};
  estimate.time = 1e-9 * static_cast<double>(tensor_bytes(input, {}));
  estimate.memory = input_output_buffers(problem, {}, {});
  return std::vector<Estimate>{estimate};
}
constexpr Primitive by_input = {"even.any", 1, DeviceKind::cpu, describe_by_input, drawn::never_prepared};
constexpr std::array<const Primitive*, 1> all_by_input = {&by_input};
constexpr Backend backend_by_input = {"even", drawn::probe, drawn::open, all_by_input};

TEST_F(PlannerSearchBound, ThePlanSaysSoAlone) {
  options_.strategy = Strategy::patches;
  options_.memory_limit = std::int64_t{1} << 40;
  const Plan widest = best();
  EXPECT_EQ(bound_note(network_, widest, 16, {}).find("the patch, "), 0U);
  EXPECT_NE(bound_note(network_, widest, 16, {}).find("is as long as --max-extent 16 lets it be"), std::string::npos);
  EXPECT_EQ(bound_note(network_, widest, 1000, {}), "") << "memory is what ended it";
  EXPECT_EQ(bound_note(network_, widest, 16, Vec3::cube(12)), "") << "the volume ends there";
}

TEST_F(PlannerSearchBound, IsLiftedWhereThePlanEndsThere) {
  network_ = drawn::chain_of_rank(1);
  options_.strategy = Strategy::patches;
  options_.memory_limit = std::int64_t{1} << 40;
  const Plan bounded = best();
  ASSERT_NE(bound_note(network_, bounded, 16, {}), "");
  EXPECT_EQ(lifted_bound(network_, bounded, 16), 16);
  options_.lifts_extent = true;
  const Plan lifted = best();
  EXPECT_GT(lifted.predicted.voxels_per_second, bounded.predicted.voxels_per_second);
  EXPECT_GE(lifted_bound(network_, lifted, 16), 32);
}

TEST_F(PlannerSearchBound, SmallerRungsAreSearchedOnceWhereItIsLifted) {
  network_ = drawn::chain_of_rank(1);
  options_.strategy = Strategy::patches;
  options_.memory_limit = std::int64_t{1} << 40;
  options_.lifts_extent = true;
  options_.ladder = true;
  bool smaller = false;
  int first_again = 0;
  options_.progress = [&](const SearchProgress& progress) {
    if (smaller && !progress.smaller) ++first_again;
    smaller = progress.smaller;
  };
  const Plan lifted = best();
  EXPECT_GE(lifted_bound(network_, lifted, 16), 32);
  EXPECT_GT(lifted.ladder.size(), 1U);
  EXPECT_TRUE(smaller) << "they come last";
  EXPECT_EQ(first_again, 0);
}

TEST_F(PlannerSearchBound, IsLiftedUntilADoublingGainsLessThanAPercent) {
  catalogue_ = Catalogue::make(std::array<const Backend*, 1>{&backend_by_input}).value();
  network_ = drawn::chain_of_rank(1);
  network_.nodes = {{"conv1", drawn::convolution(1, Vec3{1, 1, 9}), {0}}};
  options_.strategy = Strategy::patches;
  options_.max_S = 1;
  options_.memory_limit = std::int64_t{1} << 40;
  options_.lifts_extent = true;
  const double lifted = best_rate();
  options_.lifts_extent = false;
  double rate = best_rate();
  double gain = 1;
  int doublings = 0;
  for (; gain >= 0.01; ++doublings) {
    options_.max_extent *= 2;
    const double next = best_rate();
    gain = next / rate - 1;
    rate = next;
  }
  EXPECT_EQ(lifted, rate) << "after " << doublings << " doublings";
  EXPECT_GT(doublings, 3);
  options_.max_extent *= 2;
  EXPECT_GT(best_rate(), rate) << "a little more would be gained";
}

TEST_F(PlannerSearchBound, AxesThatTheNetLacksAreNotBounded) {
  network_ = drawn::chain_of_rank(2);
  options_.strategy = Strategy::patches;
  options_.memory_limit = std::int64_t{1} << 40;
  const Plan widest = best();
  EXPECT_EQ(bound_note(network_, widest, 16, Vec3{1000, 12, 12}), "") << "z is no axis of the net";
  EXPECT_NE(bound_note(network_, widest, 16, Vec3::cube(1000)), "");
}

TEST_F(PlannerSearchBound, AStreamHasNoEndAlongItsAxis) {
  const std::vector<PoolingMode> modes(1, PoolMode::fragments);
  Plan plan;
  plan.ladder.resize(1);
  GeometryChoice& choice = plan.ladder.front().geometry;
  choice = {{16, legal_extents(network_, modes, 1, 8).back(), legal_extents(network_, modes, 2, 8).back()}, 1, modes};
  choice.streamed = true;
  ASSERT_TRUE(make_geometry(network_, choice));
  EXPECT_EQ(bound_note(network_, plan, 16, {}), "");
  EXPECT_NE(bound_note(network_, plan, 8, {}), "") << "its cross-section has";
  choice.axis = 2;
  const Result<Geometry> along_x = make_geometry(network_, choice);
  ASSERT_TRUE(along_x) << along_x.error().message;
  EXPECT_EQ(bound_note(network_, plan, 16, {}), "");
  const Vec3 volume = {1000, along_x->patch_input.y, 1};
  EXPECT_NE(bound_note(network_, plan, 8, volume), "") << "z is of its cross-section, and the volume goes on there";
  EXPECT_EQ(bound_note(network_, plan, 8, Vec3{along_x->patch_input.x, volume.y, 1000}), "") << "the volume ends there";
}

}  // namespace
}  // namespace znni
