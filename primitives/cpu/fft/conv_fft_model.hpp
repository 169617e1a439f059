// Modelled times of the two convolutions by FFT: the operations and bytes of each kind of work divided by the machine's
// rates. Accurate enough to rank; measured timings replace them.
#pragma once

#include "primitives/core/device.hpp"
#include "primitives/core/primitive.hpp"
#include "primitives/core/problem.hpp"

namespace znni::cpu {

// Returns the time of section IV.A.3; each primary thread takes whole output channels.
[[nodiscard]] Seconds task_parallel_seconds(const ConvProblem& problem, const DeviceSpec& spec);

// Returns the time of section IV.A.2. All workers share every transform and synchronise after each of its parts.
[[nodiscard]] Seconds data_parallel_seconds(const ConvProblem& problem, const DeviceSpec& spec);

// Returns a lower bound of both: the products alone, of transforms that are not padded.
[[nodiscard]] Seconds min_fft_seconds(const ConvProblem& problem, const DeviceSpec& spec);

}  // namespace znni::cpu
