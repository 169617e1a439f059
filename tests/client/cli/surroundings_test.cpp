#include "client/cli/surroundings.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <vector>

namespace znni::client {
namespace {

using Line = std::vector<double>;  // voxels along y
using Network = std::function<Line(const Line&)>;

Line part_of(const Line& line, std::int64_t start, std::int64_t stop) {
  return {line.begin() + start, line.begin() + stop};
}

// Returns sums of three voxels, each with its own weight, of a line with `pad` zeros on either side.
Line convolved(const Line& line, std::size_t pad) {
  Line padded(line.size() + 2 * pad);
  std::copy(line.begin(), line.end(), padded.begin() + static_cast<std::ptrdiff_t>(pad));
  Line sums;
  for (std::size_t i = 0; i + 2 < padded.size(); ++i) sums.push_back(padded[i] + 3 * padded[i + 1] + 7 * padded[i + 2]);
  return sums;
}

// Returns the output of a network that halves the resolution and doubles it again.
Line u_net(const Line& line, std::size_t pad) {
  const Line fine = convolved(line, pad);
  Line coarse;
  for (std::size_t i = 0; i + 1 < fine.size(); i += 2) coarse.push_back(std::max(fine[i], fine[i + 1]));
  Line twice;
  for (const double voxel : convolved(coarse, pad)) twice.insert(twice.end(), 2, voxel);
  return convolved(twice, pad);
}

// Returns the mean, by weight, of windows that each subtract the sum of their voxels, as the daemon lays them.
Line blended(const Line& line, std::int64_t window, double overlap) {
  const auto n = static_cast<std::int64_t>(line.size());
  const auto step = std::max<std::int64_t>(static_cast<std::int64_t>(static_cast<double>(window) * (1 - overlap)), 1);
  Line total(line.size());
  Line weights(line.size());
  for (std::int64_t at = 0, last = -1; last < n - window; at += step) {
    last = std::min(at, n - window);
    double sum = 0;
    for (std::int64_t i = 0; i < window; ++i) sum += line[static_cast<std::size_t>(last + i)];
    for (std::int64_t i = 0; i < window; ++i) {
      const auto voxel = static_cast<std::size_t>(last + i);
      const auto weight = static_cast<double>((i + 1) * (window - i));
      total[voxel] += weight * (8 * line[voxel] - sum);
      weights[voxel] += weight;
    }
  }
  for (std::size_t i = 0; i < total.size(); ++i) total[i] /= weights[i];
  return total;
}

// Returns whether all boxes of the output are computed from what is read for them as from the whole line of `n` voxels.
bool is_exact(const Network& network, const ModelFacts& model, std::int64_t n) {
  Line line;
  for (std::int64_t i = 0; i < n; ++i) line.push_back(static_cast<double>((37 * i * i * i + 11 * i) % 199 - 99));
  const Line whole = network(line);
  const auto outputs = static_cast<std::int64_t>(whole.size());
  bool is_equal = true;
  for (std::int64_t first = 0; first < outputs; ++first) {
    for (std::int64_t last = first + 1; last <= outputs; ++last) {
      const Box given = read_for({{0, first, 0}, {1, last, 1}}, {1, n, 1}, model);
      const std::int64_t start = given.start.y;
      EXPECT_EQ((n - given.extent().y) % model.period.y, 0);
      EXPECT_GE(given.extent().y, model.min_extent.y);
      const Line found = network(part_of(line, start, given.stop.y));
      is_equal = is_equal && part_of(found, first - start, last - start) == part_of(whole, first, last);
    }
  }
  return is_equal;
}

ModelFacts padding_by(std::int64_t before, std::int64_t after) {
  ModelFacts model;
  model.padding_before = {0, before, 0};
  model.padding_after = {0, after, 0};
  return model;
}

TEST(Surroundings, OfConvolutionsThatPad) {
  const Network network = [](const Line& line) { return convolved(convolved(line, 1), 1); };
  for (const std::int64_t n : {1, 5, 12}) EXPECT_TRUE(is_exact(network, padding_by(2, 2), n));
  EXPECT_FALSE(is_exact(network, padding_by(1, 2), 12));
  EXPECT_FALSE(is_exact(network, padding_by(2, 1), 12));
}

TEST(Surroundings, OfStridesAndPadding) {
  const Network network = [](const Line& line) { return u_net(line, 1); };
  ModelFacts model = padding_by(5, 5);
  model.period.y = model.min_extent.y = 2;
  for (const std::int64_t n : {2, 8, 30}) EXPECT_TRUE(is_exact(network, model, n));
  model.padding_before.y = 4;
  EXPECT_FALSE(is_exact(network, model, 30));
  model.padding_before.y = 5;
  model.padding_after.y = 4;
  EXPECT_FALSE(is_exact(network, model, 30));
}

TEST(Surroundings, OfStridesWithoutPadding) {
  ModelFacts model;
  model.field_of_view.y = 9;
  model.period.y = 2;
  model.min_extent.y = 10;
  for (const std::int64_t n : {10, 12, 30}) {
    EXPECT_TRUE(is_exact([](const Line& line) { return u_net(line, 0); }, model, n));
  }
}

TEST(Surroundings, OfWindowsThatOverlap) {
  for (const double overlap : {0.0, 0.25, 0.5, 0.9}) {
    const Network network = [&](const Line& line) { return blended(line, 6, overlap); };
    ModelFacts model;
    model.window = {1, 6, 1};
    model.window_overlap = overlap;
    for (const std::int64_t n : {6, 7, 13, 30}) EXPECT_TRUE(is_exact(network, model, n));
    model.window.y = 5;
    EXPECT_FALSE(is_exact(network, model, 30)) << overlap;
  }
}

TEST(Surroundings, OfANetworkThatDoesNeitherIsItsFieldOfView) {
  ModelFacts model;
  model.field_of_view = model.min_extent = {3, 5, 1};
  EXPECT_EQ(read_for({{2, 3, 4}, {5, 7, 9}}, {20, 20, 20}, model), (Box{{2, 3, 4}, {7, 11, 9}}));
}

}  // namespace
}  // namespace znni::client
