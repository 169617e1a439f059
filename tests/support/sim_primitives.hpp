// Primitives of the simulated GPU: slow, planar or channels last, correct within their precision. They run on its
// streams and really use scratch in device memory. Code that gives memory away or reads it too early therefore gets
// wrong results.
#pragma once

#include "primitives/core/primitive.hpp"

namespace znni::test {

// Returns the back end of the simulated GPU. "sim.conv" sums channel after channel, starting with the residual. A sum
// over parts of the channels, each starting with the part before, therefore equals the whole to the last bit.
// "sim.conv_matrix" rounds factors to TF32 or bf16. "sim.pool_max", "sim.pool_mpf", "sim.pool_average",
// "sim.elementwise" (which takes groups, too) and "sim.reorder" use the oracle, in planar float32 and channels last of
// float32 and bf16. open() returns a HostSim of seed 0.
[[nodiscard]] const Backend& sim_backend();

[[nodiscard]] const Primitive& sim_conv();
[[nodiscard]] const Primitive& sim_conv_matrix();
[[nodiscard]] const Primitive& sim_reorder();
// Returns the primitive of a convolution with its pooling, by the oracle; it is not in the back end's table.
[[nodiscard]] const Primitive& sim_conv_pool();

}  // namespace znni::test
