#include "primitives/cpu/device/estimates.hpp"

#include <algorithm>
#include <utility>

#include "primitives/cpu/vectors/vector_activations.hpp"

namespace znni::cpu {
namespace {

// Time to wake all workers and wait for the last one.
constexpr Seconds seconds_per_call = 2e-5;

// Maximum lanes for which the compiler builds auto-vectorised loops.
constexpr int lanes_of_build = 8;
// Measured cycles of one vector through an activation with an exponential.
constexpr double cycles_of_exponential = 12.0;

// Returns the measured cycles of one vector through an activation.
double cycles_of(ActivationKind kind) {
  switch (kind) {
    case ActivationKind::none: return 0.0;
    case ActivationKind::relu:
    case ActivationKind::leaky_relu: return 1.0;
    case ActivationKind::elu:
    case ActivationKind::sigmoid:
    case ActivationKind::tanh: return cycles_of_exponential;
    case ActivationKind::capped_relu: return 3.0;
    case ActivationKind::hard_swish: return 4.0;
    case ActivationKind::silu: return 14.0;
    case ActivationKind::gelu_tanh: return 17.0;
    case ActivationKind::softplus:
    case ActivationKind::mish: return 18.0;
    case ActivationKind::gelu: return 25.0;
  }
  return cycles_of_exponential;
}

}  // namespace

Format blocked_format(const DeviceSpec& spec) {
  return {ElementType::f32, spec.simd_floats == 16 ? Layout::blocked16 : Layout::blocked8};
}

std::vector<Format> float_formats(const DeviceSpec& spec) { return {planar_format, blocked_format(spec)}; }

Seconds modelled_time(const DeviceSpec& spec, double flops, double efficiency, double bytes) {
  return seconds_per_call + std::max(flops / (efficiency * spec.flops_per_second), bytes / spec.bytes_per_second);
}

double tensor_traffic(const LayerProblem& problem, Format in, Format out) {
  auto bytes = static_cast<double>(tensor_bytes(output_shape(problem), out));
  for (int index = 0; index < input_count(problem); ++index) {
    bytes += static_cast<double>(tensor_bytes(input_shape(problem, index), input_format(problem, index, in, out)));
  }
  return bytes;
}

double scalar_flops(double cycles, const DeviceSpec& spec) {
  return cycles * spec.flops_per_second / (spec.hertz * spec.threads);
}

double vector_flops(double count, const DeviceSpec& spec) {
  return scalar_flops(count / std::min(lanes_of_build, spec.simd_floats), spec);
}

double exponential_flops(const DeviceSpec& spec) { return vector_flops(cycles_of_exponential, spec); }

double activation_flops(Activation activation, const DeviceSpec& spec) {
  return vector_flops(cycles_of(activation.kind), spec);
}

double late_activation_flops(Activation activation, const DeviceSpec& spec) {
  return is_lengthy(activation.kind) ? activation_flops(activation, spec) : 0.0;
}

std::vector<Estimate> streaming_estimates(const LayerProblem& problem, const DeviceSpec& spec,
                                          const std::vector<Format>& formats, double flops_per_element) {
  std::vector<Estimate> estimates;
  const double flops = flops_per_element * static_cast<double>(elements(output_shape(problem)));
  for (const Format format : formats) {
    Estimate estimate;
    estimate.in = format;
    estimate.out = format;
    estimate.memory = input_output_buffers(problem, format, format);
    estimate.time = modelled_time(spec, flops, 1.0, tensor_traffic(problem, format, format));
    estimates.push_back(std::move(estimate));
  }
  return estimates;
}

void copy_padded(std::span<const float> from, std::span<float> to) {
  ensure(from.size() <= to.size(), "what is padded has room");
  std::fill(std::copy(from.begin(), from.end(), to.begin()), to.end(), 0.0F);
}

std::int64_t float_bytes(std::int64_t count) { return mul(count, static_cast<std::int64_t>(sizeof(float))); }

}  // namespace znni::cpu
