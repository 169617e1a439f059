// What every describe() of this folder shares: formats worth offering, modelled times, refusals.
#pragma once

#include <string_view>
#include <vector>

#include "primitives/core/precision.hpp"
#include "primitives/core/refusals.hpp"

namespace znni::cuda {

// Of the formats of GPU plans those that the device offers, planar_f32 first: the others only where it has matrix units
// for them, TF32 and bf16.
// A caller that wants none of these says so, and does not wait for a library's answer about them.
[[nodiscard]] std::vector<Format> gpu_formats(const DeviceSpec& spec);

// A roofline: the longer of `arithmetic` seconds and of moving `bytes` through device memory, plus `launches` launches.
// Its shares of the hardware's rates are assumed until measured on a GPU.
[[nodiscard]] Seconds modelled_time(const DeviceSpec& spec, Seconds arithmetic, double bytes, int launches = 1);

// Bytes of all inputs and the output.
[[nodiscard]] double tensor_traffic(const LayerProblem& problem, Format in, Format out);

// One estimate per format, read and written alike: input and output in device memory, limited by that memory.
// `problem` has an input of `shape`; refuses, in the name of `primitive`, rows too long for kernels.
[[nodiscard]] Result<std::vector<Estimate>> streaming_estimates(std::string_view primitive, const LayerProblem& problem,
                                                                const DeviceSpec& spec);

// Refuses a device that is no GPU, in the name of `primitive`.
[[nodiscard]] Result<void> check_gpu(std::string_view primitive, const DeviceSpec& spec);

// Bytes of `count` floats, complex numbers of floats; saturate.
[[nodiscard]] std::int64_t float_bytes(std::int64_t count);
[[nodiscard]] std::int64_t complex_bytes(std::int64_t count);

}  // namespace znni::cuda
