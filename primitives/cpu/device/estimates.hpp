// Shared parts of the describe() functions of this folder: useful formats, modelled times, refusals.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "primitives/core/primitive.hpp"
#include "primitives/core/refusals.hpp"

namespace znni::cpu {

inline constexpr Format planar_format{};

// Returns the channel-blocked format of this device's vector width. If registers hold 4 floats, a block takes two
// registers.
[[nodiscard]] Format blocked_format(const DeviceSpec& spec);

// Returns the planar and the blocked format.
[[nodiscard]] std::vector<Format> float_formats(const DeviceSpec& spec);

// Returns a roofline estimate: the longer of two times plus the cost of waking the workers. One is the time to compute
// `flops` at `efficiency` of the device's rate, the other the time to move `bytes` through main memory.
[[nodiscard]] Seconds modelled_time(const DeviceSpec& spec, double flops, double efficiency, double bytes);

// Returns the bytes of all inputs and the output.
[[nodiscard]] double tensor_traffic(const LayerProblem& problem, Format in, Format out);

// Return costs of loops other than multiply-adds, in operations at the device's rate. The first converts `cycles`
// cycles of scalar code; the second converts `count` vector instructions, each with its load.
[[nodiscard]] double scalar_flops(double cycles, const DeviceSpec& spec);
[[nodiscard]] double vector_flops(double count, const DeviceSpec& spec);
// Return the cost of an exponential with its surrounding code, and of one activation.
[[nodiscard]] double exponential_flops(const DeviceSpec& spec);
[[nodiscard]] double activation_flops(Activation activation, const DeviceSpec& spec);
// Returns the cost of an activation fused with a store: 0 if it takes only one or two instructions.
[[nodiscard]] double late_activation_flops(Activation activation, const DeviceSpec& spec);

// Returns one estimate per format (read and written alike) for problems that only pass over their tensors. Each holds
// input and output, and its time is limited by memory or by arithmetic.
[[nodiscard]] std::vector<Estimate> streaming_estimates(const LayerProblem& problem, const DeviceSpec& spec,
                                                        const std::vector<Format>& formats, double flops_per_element);

// Copies `from` to the front of `to`, which is at least as long, and fills the rest with zeros (a bias and its padding
// channels).
void copy_padded(std::span<const float> from, std::span<float> to);

// Returns the bytes of `count` floats; saturates.
[[nodiscard]] std::int64_t float_bytes(std::int64_t count);

}  // namespace znni::cpu
