// Streams over several places that plan_split() tries beside its patches: a step of each of some thicknesses, over the
// largest square cross-section that fits.
#pragma once

#include <functional>

#include "planner/search.hpp"

namespace znni {

// Weighs a choice; whether there is memory for it.
using TrySplit = std::function<bool(const GeometryChoice& choice)>;

// Legal streams of `network` along z with all fragments of every pooling: 2, 4, 8, ... times the poolings' stride in
// new planes a step; the edge of the cross-section by bisection, for a larger one wastes less and needs more. None
// where the net has fewer than three axes, or where options.strategy is not Strategy::cpu.
void try_streams(const Network& network, const SearchOptions& options, const TrySplit& fits);

}  // namespace znni
