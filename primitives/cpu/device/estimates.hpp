// What every describe() of this folder shares: formats worth offering, modelled times, refusals.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "primitives/core/primitive.hpp"

namespace znni::cpu {

inline constexpr Format planar_format{};

// The channel-blocked format of this device's vector width; where registers hold 4 floats, blocks take two of them.
[[nodiscard]] Format blocked_format(const DeviceSpec& spec);

// planar and the blocked format.
[[nodiscard]] std::vector<Format> float_formats(const DeviceSpec& spec);

// A roofline: the longer of computing `flops` at `efficiency` of the device's rate and of moving `bytes`
// through main memory, plus what waking the workers costs.
[[nodiscard]] Seconds modelled_time(const DeviceSpec& spec, double flops, double efficiency, double bytes);

// Bytes of all inputs and the output.
[[nodiscard]] double tensor_traffic(const LayerProblem& problem, Format in, Format out);

// Operations the device could have done in `cycles` cycles of scalar code, and in `count` vector instructions
// each with its load: costs per element of loops that are no multiply-adds, in the currency of the rate.
[[nodiscard]] double scalar_flops(double cycles, const DeviceSpec& spec);
[[nodiscard]] double vector_flops(double count, const DeviceSpec& spec);
// The same for an exponential with what is around it, and for one activation.
[[nodiscard]] double exponential_flops(const DeviceSpec& spec);
[[nodiscard]] double activation_flops(Activation activation, const DeviceSpec& spec);
// For an activation of what is written anyway: 0 where that takes an instruction or two.
[[nodiscard]] double late_activation_flops(Activation activation, const DeviceSpec& spec);

// For problems that only pass over their tensors: one estimate per format (read and written alike) that holds
// input and output, limited by memory or by arithmetic.
[[nodiscard]] std::vector<Estimate> streaming_estimates(const LayerProblem& problem, const DeviceSpec& spec,
                                                        const std::vector<Format>& formats, double flops_per_element);

// "cpu.pool.mpf computes max-pooling fragments, not: conv 1x80x...".
[[nodiscard]] Error refusal(std::string_view primitive, std::string_view computes, const LayerProblem& problem);

// Copies `from` to the front of `to`, which is no shorter; zeros follow: a bias and its padding images.
void copy_padded(std::span<const float> from, std::span<float> to);

// Bytes of `count` floats; saturates.
[[nodiscard]] std::int64_t float_bytes(std::int64_t count);

}  // namespace znni::cpu
