#include "tests/server/pipeline/dense_bound.hpp"

#include <vector>

#include "tests/oracle/local_tolerance.hpp"
#include "tests/server/pipeline/dense_oracle.hpp"

namespace znni::test {
namespace {

using oracle::Values;

template <class All>
auto picked(const All& all, const std::vector<int>& inputs) {
  All some;
  for (const int input : inputs) some.push_back(all[static_cast<std::size_t>(input)]);
  return some;
}

std::vector<LayerProblem> dense_problems(const Network& network, const std::vector<Shape5>& shapes) {
  const std::vector<Reach> reach = reaches(network);
  std::vector<LayerProblem> problems;
  for (const Node& node : network.nodes) {
    const Vec3 stride = reach[static_cast<std::size_t>(node.inputs.front())].stride;
    problems.push_back(dense_problem(node.operation, stride, picked(shapes, node.inputs)));
  }
  return problems;
}

// Returns, for each value and voxel of the output, the largest number within its reach.
std::vector<Values> largest_within_reach(const Network& network, const DenseValues& dense, Vec3 margin) {
  const std::vector<Reach> reach = reaches(network);
  const Vec3 n_out = dense.shapes.back().n;
  std::vector<Values> largest;
  for (std::size_t i = 0; i < dense.values.size(); ++i) {
    const Vec3 read = reach.back().fov - reach[i].fov;
    largest.push_back(oracle::largest_around(oracle::largest_of_channels(dense.shapes[i], dense.values[i]),
                                             dense.shapes[i].n, margin, read + margin, n_out));
  }
  return largest;
}

}  // namespace

Values dense_bound(const Network& network, const NetworkWeights& weights, Vec3 n, const Values& volume, Vec3 margin) {
  const DenseValues dense = dense_values(network, weights, n, volume);
  const std::vector<LayerProblem> problems = dense_problems(network, dense.shapes);
  const std::vector<Values> largest = largest_within_reach(network, dense, margin);
  Values bound;
  for (std::size_t at = 0; at < largest.back().size(); ++at) {
    std::vector<double> errors = {0.0};  // per value, of all that this voxel is made of
    std::vector<double> most = {largest[0][at]};
    for (std::size_t i = 0; i < problems.size(); ++i) {
      const std::vector<int>& inputs = network.nodes[i].inputs;
      errors.push_back(oracle::tolerance_within(problems[i], picked(most, inputs), weights[i].view()) +
                       oracle::carried(problems[i], picked(errors, inputs), weights[i].view()));
      most.push_back(largest[i + 1][at] + errors.back());
    }
    bound.push_back(errors.back());
  }
  return bound;
}

}  // namespace znni::test
