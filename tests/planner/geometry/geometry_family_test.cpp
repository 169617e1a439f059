#include "planner/geometry/geometry_family.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/planner/dense_net.hpp"
#include "tests/planner/drawn_primitives.hpp"
#include "tests/planner/random_modes.hpp"

namespace znni {
namespace {

using testing::HasSubstr;

// Returns the first legal extents of each axis, combined; some more that are not legal.
std::vector<Vec3> extents_of(const Network& network, const GeometryChoice& choice) {
  std::vector<Vec3> all = {Vec3::cube(1), Vec3::cube(12)};
  for (std::size_t z = 0; z < 2; ++z) {
    for (std::size_t x = 0; x < 3; ++x) {
      all.push_back({legal_extents(network, choice.modes, 0, 200).at(z),
                     legal_extents(network, choice.modes, 1, 200)[0],
                     legal_extents(network, choice.modes, 2, 200).at(x)});
    }
  }
  return all;
}

void expect_equal(const Geometry& found, const Geometry& wanted) {
  EXPECT_EQ(found.choice, wanted.choice);
  EXPECT_EQ(found.problems, wanted.problems);
  EXPECT_EQ(found.values, wanted.values);
  EXPECT_EQ(found.histories.kept, wanted.histories.kept);
  EXPECT_EQ(found.histories.read, wanted.histories.read);
  EXPECT_EQ(found.stem.last, wanted.stem.last);
  EXPECT_EQ(found.stem.begins, wanted.stem.begins);
  EXPECT_EQ(found.fragments, wanted.fragments);
  EXPECT_EQ(found.held, wanted.held);
  EXPECT_EQ(found.runs, wanted.runs);
  EXPECT_EQ(found.windows, wanted.windows);
  EXPECT_EQ(found.phases, wanted.phases);
  EXPECT_EQ(found.read_begin, wanted.read_begin);
  EXPECT_EQ(found.patch_input, wanted.patch_input);
  EXPECT_EQ(found.patch_output, wanted.patch_output);
}

// Expects that one extent after the other leaves no trace, as if each had been the first.
void expect_no_traces(const Network& network, const GeometryChoice& like) {
  const Result<GeometryFamily> family = GeometryFamily::make(network, like);
  for (const Vec3 pass_input : extents_of(network, like)) {
    GeometryChoice choice = like;
    choice.pass_input = pass_input;
    const Result<Geometry> wanted = make_geometry(network, choice);
    if (!family) {
      EXPECT_FALSE(wanted);
      continue;
    }
    const Result<Geometry> found = family->at(pass_input);
    ASSERT_EQ(found.has_value(), wanted.has_value()) << to_string(pass_input);
    if (!found) {
      EXPECT_EQ(found.error().message, wanted.error().message);
      continue;
    }
    expect_equal(*found, *wanted);
    EXPECT_TRUE(found->passes.empty());
    EXPECT_EQ(family->with_passes(pass_input)->passes.size(), wanted->passes.size());
    EXPECT_EQ(family->patch_output(pass_input), wanted->patch_output);
  }
}

TEST(PlannerGeometryFamily, EveryExtentIsAsIfItWereTheFirst) {
  test::Random random(test::base_seed());
  const Network network = drawn::chain();
  for (int i = 0; i < test::case_count(30); ++i) {
    const std::vector<PoolingMode> modes = test::random_modes(network, random);
    for (const std::int64_t slab : {0, 1}) {
      for (const bool streamed : {false, true}) expect_no_traces(network, {{}, 1, modes, slab, streamed});
    }
    expect_no_traces(network, {{}, 2, modes});
  }
}

TEST(PlannerGeometryFamily, RefusesWhatNoExtentMends) {
  const Network network = drawn::chain();
  const std::vector<PoolingMode> mpf = {PoolMode::fragments};
  const auto refusal = [&](const GeometryChoice& like) { return GeometryFamily::make(network, like).error().message; };
  EXPECT_THAT(refusal({{}, 1, {}}), HasSubstr("modes of 0 poolings; the network has 1"));
  EXPECT_THAT(refusal({{}, 1, {PoolingMode({3, 1, 1}, true)}}), HasSubstr("a divisor of its stride 2 is right"));
  EXPECT_THAT(refusal({{}, 1, mpf, 0, false, 3}), HasSubstr("axis 3"));
  EXPECT_THAT(refusal({{}, 2, mpf, 1}), HasSubstr("more than one channel"));
  EXPECT_THAT(refusal({{}, 1, {PoolMode::plain}, 0, true}), HasSubstr("all its fragments of one window"));
  EXPECT_THAT(refusal({{}, 2, mpf, 0, true}), HasSubstr("2 patches are computed together"));
  EXPECT_TRUE(GeometryFamily::make_part(network, {{}, 2, mpf, 0, true}));
}

// A mean over a part of the window would be another network.
TEST(PlannerGeometryFamily, WindowsAreComputedWholeAndAlone) {
  Network network;
  network.nodes = {{"conv", Convolution{4, Vec3::cube(3), Vec3::cube(1), {}}, {0}},
                   {"norm", Norm{4}, {1}},
                   {"pool", Pooling{PoolKind::max, Vec3::cube(2), Vec3::cube(1)}, {2}}};
  const std::vector<PoolingMode> mpf = {PoolMode::fragments};
  EXPECT_TRUE(make_geometry(network, {Vec3::cube(9), 1, mpf}));
  const auto refusal = [&](const GeometryChoice& like) { return GeometryFamily::make(network, like).error().message; };
  EXPECT_THAT(refusal({{}, 1, mpf, 0, true}), HasSubstr("streamed, and it is bound to"));
  EXPECT_THAT(refusal({{}, 2, mpf}), HasSubstr("several windows are computed together"));
  EXPECT_THAT(refusal({{}, 1, mpf, 4}), HasSubstr("its stem runs in slabs, and it is bound to"));
}

}  // namespace
}  // namespace znni
