// Pairs: a convolution and the pooling behind it that one primitive computes at once, so that the tensor between them
// does not exist. A plan keeps a step for each of the two nodes. Both name the primitive; the first says how it reads
// and how it is set up, and has the time of both; the second has the variant `joined=1`, says how the pair writes, and
// takes no time of its own.
//
// In a streamed net a pair keeps no planes of the tensor that it leaves out. Each step computes again the planes that
// the pooling's windows begin in, for which the convolution reads as many more planes of earlier steps.
#pragma once

#include <array>
#include <vector>

#include "planner/plan/plan.hpp"

namespace znni {

// Returns whether the step is the second of a pair.
[[nodiscard]] bool is_joined(const Step& step);
// Returns whether steps[i] and the one behind it are a pair.
[[nodiscard]] bool begins_pair(const std::vector<Step>& steps, std::size_t i);

// Returns the problem that `node` and the one behind it compute together. Fails with `unsupported` if they are not a
// convolution and a pooling, or if the tensor between them must exist: others read it, a stem makes it in slabs, later
// passes read it again.
[[nodiscard]] Result<ConvPoolProblem> pair_problem(const Network& network, const Geometry& geometry, int node);

// Returns for each value of the network if a pair leaves it out.
[[nodiscard]] std::vector<bool> left_out_values(const Network& network, const std::vector<Step>& steps);
// Returns the geometry in which pairs leave out the values `absent`: their tensors keep nothing, and their inputs keep
// more. To do it twice changes nothing.
[[nodiscard]] Geometry with_pairs(const Network& network, Geometry geometry, const std::vector<bool>& absent);

// Returns every choice of some of `between`, as flags of absent values, one for each of `values`.
[[nodiscard]] std::vector<std::vector<bool>> subsets_of(const std::vector<std::size_t>& between, std::size_t values);

// Return the network and geometry of a search in which pairs leave out the values `absent`, which pair_problem()
// allows. The second node of each pair reads what the first did and has the problem of both; the first reads nothing
// and writes a tensor without voxels.
[[nodiscard]] Network searched_in_pairs(Network network, const std::vector<bool>& absent);
[[nodiscard]] Geometry searched_in_pairs(const Network& network, const Geometry& geometry,
                                         const std::vector<bool>& absent);

// Returns the two steps of a pair, given the first: a step with the estimate's formats, variant and time.
[[nodiscard]] std::array<Step, 2> pair_steps(const Step& first);

// Returns the pair as one step: read like `first`, written like `second`. Fails with invalid_argument if they do not
// belong together.
[[nodiscard]] Result<Step> pair_as_one(const Step& first, const Step& second);

}  // namespace znni
