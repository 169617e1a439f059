#include "primitives/gpu/estimates.hpp"

#include <algorithm>

#include "primitives/gpu/views.hpp"

namespace znni::cuda {
namespace {

constexpr Seconds seconds_per_launch = 4e-6;
// Share of the memory's rate that passes over tensors reach. Assumed until measured.
constexpr double memory_share = 0.8;

}  // namespace

std::vector<Format> gpu_formats(const DeviceSpec& spec) {
  std::vector<Format> formats = {planar_f32};
  if (spec.accelerator.tf32_flops_per_second > 0) formats.push_back(last_f32);
  if (spec.accelerator.bf16_flops_per_second > 0) formats.push_back(last_bf16);
  return formats;
}

Seconds modelled_time(const DeviceSpec& spec, Seconds arithmetic, double bytes, int launches) {
  return seconds_per_launch * launches + std::max(arithmetic, bytes / (memory_share * spec.bytes_per_second));
}

double tensor_traffic(const LayerProblem& problem, Format in, Format out) {
  auto bytes = static_cast<double>(tensor_bytes(output_shape(problem), out));
  for (int index = 0; index < input_count(problem); ++index) {
    bytes += static_cast<double>(tensor_bytes(input_shape(problem, index), input_format(problem, index, in, out)));
  }
  return bytes;
}

Result<std::vector<Estimate>> streaming_estimates(std::string_view primitive, const LayerProblem& problem,
                                                  const DeviceSpec& spec, double reads) {
  if (Result<void> gpu = check_gpu(primitive, spec); !gpu) return gpu.error();
  if (Result<void> rows = check_rows(input_shape(problem, 0)); !rows) {
    return Error{rows.error().code, std::string(primitive) + " " + rows.error().message};
  }
  std::vector<Estimate> estimates;
  for (const Format format : gpu_formats(spec)) {
    Estimate estimate;
    estimate.in = format;
    estimate.out = format;
    estimate.memory = input_output_buffers(problem, format, format, 0, MemorySpace::device);
    const auto again = (reads - 1.0) * static_cast<double>(tensor_bytes(input_shape(problem, 0), format));
    estimate.time = modelled_time(spec, 0.0, tensor_traffic(problem, format, format) + again);
    estimates.push_back(std::move(estimate));
  }
  return estimates;
}

Result<void> check_gpu(std::string_view primitive, const DeviceSpec& spec) {
  if (spec.kind == DeviceKind::gpu) return {};
  return Error{ErrorCode::unsupported, std::string(primitive) + " runs on GPUs, not on '" + spec.name + "'"};
}

std::int64_t float_bytes(std::int64_t count) { return mul(count, static_cast<std::int64_t>(sizeof(float))); }
std::int64_t complex_bytes(std::int64_t count) { return mul(count, 2 * static_cast<std::int64_t>(sizeof(float))); }

}  // namespace znni::cuda
