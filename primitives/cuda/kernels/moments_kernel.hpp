// Kernels of what is made of all voxels of a channel: parts, groups, and the last pass.
#pragma once

#include <cuda_runtime_api.h>

#include "primitives/gpu/elementwise/moments_element.hpp"
#include "primitives/gpu/storage.hpp"

namespace znni::cuda {

// Launches the sums of parts: parts[S][channels][arg.parts]. Returns the launch's status, as do all of these.
cudaError_t launch_moments(const MomentsArg& arg, Storage storage, const void* in, Moments* parts, cudaStream_t stream);

// Launches the factors of each channel of its group's parts: factors[S][channels].
cudaError_t launch_groups(const GroupsArg& arg, const Moments* parts, ChannelFactors* factors, cudaStream_t stream);

// Launches the last pass. arg.width is 1, or 16 bytes' worth of `storage` if all pointers and steps allow it.
cudaError_t launch_factors(const FactorsArg& arg, Storage storage, cudaStream_t stream);

}  // namespace znni::cuda
