// Modelled times of the two convolutions by FFT: operations and bytes of each kind of work over rates of the
// machine. Good enough to rank; measured timings replace them.
#pragma once

#include "primitives/core/device.hpp"
#include "primitives/core/primitive.hpp"
#include "primitives/core/problem.hpp"

namespace znni::cpu {

// Section IV.A.3; whole output images go to primary threads.
[[nodiscard]] Seconds task_parallel_seconds(const ConvProblem& problem, const DeviceSpec& spec);

// Section IV.A.2; every transform is shared by all workers, who meet after each of its parts.
[[nodiscard]] Seconds data_parallel_seconds(const ConvProblem& problem, const DeviceSpec& spec);

}  // namespace znni::cpu
