// Primitives of the simulated GPU: slow, planar or channels last, right within their precision. They run on its
// streams, take their scratch from device memory and really use it, so that what gives memory away too early, or looks
// too early, gets wrong results.
#pragma once

#include "primitives/core/primitive.hpp"

namespace znni::test {

// "sim.conv", which sums image after image from the residual on, so that a sum over parts of the images, each from the
// one before it on, equals the whole to the last bit; "sim.conv_matrix", which rounds factors to TF32 or bf16;
// "sim.pool_max", "sim.pool_mpf", "sim.pool_average", "sim.elementwise" and "sim.reorder", by the oracle, in planar
// float32 and channels last of float32 and bf16. open() gives a HostSim of seed 0.
[[nodiscard]] const Backend& sim_backend();

[[nodiscard]] const Primitive& sim_conv();
[[nodiscard]] const Primitive& sim_conv_matrix();
[[nodiscard]] const Primitive& sim_reorder();
// A convolution and the pooling behind it at once, by the oracle; not in the back end's table.
[[nodiscard]] const Primitive& sim_conv_pool();

}  // namespace znni::test
