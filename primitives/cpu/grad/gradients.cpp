#include "primitives/cpu/grad/gradients.hpp"

#include <utility>

#include "primitives/cpu/device/estimates.hpp"

namespace znni::cpu {
namespace {

// Measured cycles to hand a plane of one block to a worker.
constexpr double cycles_per_plane = 500.0;

}  // namespace

double gradient_traffic(const GradientProblem& problem, Format in, Format out) {
  double bytes = 0;
  for (const Buffer& buffer : gradient_buffers(problem, in, out)) bytes += static_cast<double>(buffer.bytes);
  return bytes;
}

std::vector<Estimate> streaming_gradients(const GradientProblem& problem, const DeviceSpec& spec,
                                          const std::vector<Format>& formats, double flops_per_element) {
  std::vector<Estimate> estimates;
  const Shape5 shape = gradient_shape(problem);
  for (const Format format : formats) {
    const std::int64_t planes = shape.S * div_up(shape.f, block_width(format.layout)) * shape.n.z;
    const double flops = flops_per_element * static_cast<double>(elements(shape)) +
                         scalar_flops(cycles_per_plane, spec) * static_cast<double>(planes);
    Estimate estimate;
    estimate.in = estimate.out = format;
    estimate.memory = gradient_buffers(problem, format, format);
    estimate.time = modelled_time(spec, flops, 1.0, gradient_traffic(problem, format, format));
    estimates.push_back(std::move(estimate));
  }
  return estimates;
}

}  // namespace znni::cpu
