// The parts that every describe() of this folder shares: formats worth offering, modelled times, refusals.
#pragma once

#include <string_view>
#include <vector>

#include "primitives/core/precision.hpp"
#include "primitives/core/refusals.hpp"

namespace znni::cuda {

// Returns those formats of GPU plans that the device offers, planar_f32 first: the others only if it has matrix units
// for them, TF32 and bf16.
// A caller that wants none of these says so, and does not wait for a library's answer about them.
[[nodiscard]] std::vector<Format> gpu_formats(const DeviceSpec& spec);

// Returns a roofline: the longer of `arithmetic` seconds and of moving `bytes` through device memory, plus `launches`
// launches. Its shares of the hardware's rates are assumed until measured on a GPU.
[[nodiscard]] Seconds modelled_time(const DeviceSpec& spec, Seconds arithmetic, double bytes, int launches = 1);

// Returns bytes of all inputs and the output.
[[nodiscard]] double tensor_traffic(const LayerProblem& problem, Format in, Format out);

// Returns one estimate per format, read and written alike: input and output in device memory, limited by that memory.
// `problem` has an input of `shape`, of which each voxel is read `reads` times; refuses, in the name of `primitive`,
// rows too long for kernels.
[[nodiscard]] Result<std::vector<Estimate>> streaming_estimates(std::string_view primitive, const LayerProblem& problem,
                                                                const DeviceSpec& spec, double reads = 1.0);

// Refuses a device that is not a GPU, in the name of `primitive`.
[[nodiscard]] Result<void> check_gpu(std::string_view primitive, const DeviceSpec& spec);

// Return the bytes of `count` floats, or complex numbers of floats; they saturate.
[[nodiscard]] std::int64_t float_bytes(std::int64_t count);
[[nodiscard]] std::int64_t complex_bytes(std::int64_t count);

}  // namespace znni::cuda
