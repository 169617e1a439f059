// A divided convolution that is ready to run; primitives/hybrid/divided_conv.hpp describes it.
#pragma once

#include <memory>

#include "primitives/hybrid/divided_conv.hpp"

namespace znni::hybrid {

// Builds the layer. `persistent` grants the persistent buffers of describe_divided() of the same arguments. run()
// returns when the output is in host memory; its arena also grants the estimate's pinned and device buffers. `weights`
// must outlive the layer. `poison` fills the scratch of sub-layers, as in Arena.
[[nodiscard]] Result<std::unique_ptr<PreparedLayer>> prepare_divided(const ConvProblem& conv,
                                                                     const DividedChoice& choice,
                                                                     const LayerWeights& weights, Arena& persistent,
                                                                     Accelerator& accelerator,
                                                                     Arena::Poison poison = {});

}  // namespace znni::hybrid
