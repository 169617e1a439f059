#include "primitives/cpu/grad/gradients.hpp"

#include <utility>

#include "primitives/cpu/device/estimates.hpp"

namespace znni::cpu {

double gradient_traffic(const GradientProblem& problem, Format in, Format out) {
  double bytes = 0;
  for (const Buffer& buffer : gradient_buffers(problem, in, out)) bytes += static_cast<double>(buffer.bytes);
  return bytes;
}

std::vector<Estimate> streaming_gradients(const GradientProblem& problem, const DeviceSpec& spec,
                                          const std::vector<Format>& formats, double flops_per_element) {
  std::vector<Estimate> estimates;
  const double flops = flops_per_element * static_cast<double>(elements(gradient_shape(problem)));
  for (const Format format : formats) {
    Estimate estimate;
    estimate.in = estimate.out = format;
    estimate.memory = gradient_buffers(problem, format, format);
    estimate.time = modelled_time(spec, flops, 1.0, gradient_traffic(problem, format, format));
    estimates.push_back(std::move(estimate));
  }
  return estimates;
}

}  // namespace znni::cpu
