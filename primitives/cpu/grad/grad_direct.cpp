// cpu.grad.direct: gradients of any convolution by their definition, planar, without scratch. With g the gradient of
// the output and x the input,
//   of the input:   dx[s][i][stride v + dilation d] += sum over j of kernel[j][i][d] g[s][j][v]
//   of the kernels: dw[j][i][d] = sum over s, v of g[s][j][v] x[s][i][stride v + dilation d]
//   of the bias:    db[j] = sum over s, v of g[s][j][v]
// A row of dx, a kernel and a bias have one owner each, so sums run in a fixed order.
#include <algorithm>

#include "primitives/cpu/device/estimates.hpp"
#include "primitives/cpu/elementwise/runs.hpp"
#include "primitives/cpu/grad/gradients.hpp"
#include "primitives/cpu/grad/row_products.hpp"

namespace znni::cpu {
namespace {

constexpr std::string_view direct_name = "cpu.grad.direct";
// Shares of the device's rate: rows of the input's gradient are loaded and stored for each product.
constexpr double input_efficiency = 0.1;
constexpr double weights_efficiency = 0.15;
// Measured cycles of a product of two rows, however short: its address, its call, what is left of the last vector.
constexpr double input_cycles_per_row = 60.0;
constexpr double weights_cycles_per_row = 35.0;

Result<std::vector<Estimate>> describe_direct(const GradientProblem& problem, const DeviceSpec& spec) {
  const auto* conv = std::get_if<ConvProblem>(&problem.layer);
  if (conv == nullptr || !is_single(problem)) return refusal(direct_name, "gradients of convolutions", problem);
  Estimate estimate;
  estimate.memory = gradient_buffers(problem, planar_format, planar_format);
  const bool of_weights = problem.of == GradientOf::weights;
  const double efficiency = of_weights ? weights_efficiency : input_efficiency;
  const double rows = direct_flops(*conv) / (2.0 * static_cast<double>(output_shape(*conv).n.x));
  const double per_row = scalar_flops(of_weights ? weights_cycles_per_row : input_cycles_per_row, spec);
  estimate.time = modelled_time(spec, direct_flops(*conv) / efficiency + rows * per_row, 1.0,
                                gradient_traffic(problem, planar_format, planar_format));
  return std::vector<Estimate>{std::move(estimate)};
}

// The channels that one channel meets in a convolution with groups.
struct Partners {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

Partners inputs_of(const ConvProblem& conv, std::int64_t j) {
  const std::int64_t f = conv.in.f / conv.groups;
  return {j / (conv.f_out / conv.groups) * f, f};
}

Partners outputs_of(const ConvProblem& conv, std::int64_t i) {
  const std::int64_t f_out = conv.f_out / conv.groups;
  return {i / (conv.in.f / conv.groups) * f_out, f_out};
}

class DirectInputGradient final : public PreparedGradient {
 public:
  DirectInputGradient(const ConvProblem& conv, std::span<const float> kernels, Executor& executor)
      : conv_(conv), n_out_(output_shape(conv).n), kernels_(kernels), executor_(executor) {}

  Result<void> run(const GradientViews& views, Arena&) override {
    const Shape5& in = conv_.in;
    executor_.parallel_for(in.S * in.f * in.n.z, [&](std::int64_t index, int) {
      for (std::int64_t y = 0; y < in.n.y; ++y) {
        compute_row(views, {index / in.n.z / in.f, index / in.n.z % in.f, {index % in.n.z, y, 0}, in.n.x});
      }
    });
    return {};
  }

 private:
  void compute_row(const GradientViews& views, const Run& run) const {
    const std::span<float> to = run_of(views.gradient, run);
    std::fill(to.begin(), to.end(), 0.0F);
    for (std::int64_t dz = 0; dz < conv_.k.z; ++dz) {
      for (std::int64_t dy = 0; dy < conv_.k.y; ++dy) {
        const Vec3 from = run.start - Vec3{dz, dy, 0} * conv_.dilation;
        if (from.z < 0 || from.y < 0 || from.z % conv_.stride.z != 0 || from.y % conv_.stride.y != 0) continue;
        const Vec3 row = from / conv_.stride;
        if (row.z < n_out_.z && row.y < n_out_.y) add_rows(views.output, run, row, dz * conv_.k.y + dy, to);
      }
    }
  }

  // Adds what row `row` of every output channel has through the kernel's row `taps`.
  void add_rows(const TensorView& output, const Run& run, Vec3 row, std::int64_t taps, std::span<float> to) const {
    const Partners outputs = outputs_of(conv_, run.block);
    const std::int64_t f = conv_.in.f / conv_.groups;
    for (std::int64_t j = outputs.first; j < outputs.first + outputs.count; ++j) {
      const float* const kernel = kernels_.data() + (j * f + run.block % f) * voxels(conv_.k) + taps * conv_.k.x;
      const float* const from = &output.at(run.s, j, row);
      for (std::int64_t dx = 0; dx < conv_.k.x; ++dx) {
        add_scaled_row(from, n_out_.x, kernel[dx], to.data() + dx * conv_.dilation.x, conv_.stride.x);
      }
    }
  }

  ConvProblem conv_;
  Vec3 n_out_;
  std::span<const float> kernels_;
  Executor& executor_;
};

class DirectWeightsGradient final : public PreparedGradient {
 public:
  DirectWeightsGradient(const ConvProblem& conv, Executor& executor)
      : conv_(conv), n_out_(output_shape(conv).n), executor_(executor) {}

  Result<void> run(const GradientViews& views, Arena&) override {
    const std::int64_t f = conv_.in.f / conv_.groups;
    executor_.parallel_for(conv_.f_out * (f + 1), [&](std::int64_t index, int) {
      const std::int64_t j = index / (f + 1);
      if (index % (f + 1) == f) {
        if (views.bias.empty()) return;
        views.bias[static_cast<std::size_t>(j)] = static_cast<float>(sum_of_channel(views.output, j));
      } else {
        compute_kernel(views, j, index % (f + 1));
      }
    });
    return {};
  }

 private:
  // Computes the kernel between output channel j and the i-th input channel of its group, plane by plane.
  void compute_kernel(const GradientViews& views, std::int64_t j, std::int64_t i) const {
    const std::int64_t channel = inputs_of(conv_, j).first + i;
    for (std::int64_t plane = 0; plane < conv_.in.S * n_out_.z; ++plane) {
      const Run run{plane / n_out_.z, j, {plane % n_out_.z, 0, 0}, n_out_.x};
      for (Vec3 d; d.z < conv_.k.z; ++d.z) {
        for (d.y = 0; d.y < conv_.k.y; ++d.y) {
          for (d.x = 0; d.x < conv_.k.x; ++d.x) {
            float& sum = views.gradient.at(j, i, d);
            sum = (plane == 0 ? 0.0F : sum) + plane_product(views, run, channel, d);
          }
        }
      }
    }
  }

  // Returns the sum of products of an output plane with the input's voxels under tap d.
  float plane_product(const GradientViews& views, Run run, std::int64_t channel, Vec3 d) const {
    double sum = 0.0;
    for (; run.start.y < n_out_.y; ++run.start.y) {
      const float* const x = &views.saved.at(run.s, channel, run.start * conv_.stride + d * conv_.dilation);
      sum += row_product(&views.output.at(run.s, run.block, run.start), x, n_out_.x, conv_.stride.x);
    }
    return static_cast<float>(sum);
  }

  ConvProblem conv_;
  Vec3 n_out_;
  Executor& executor_;
};

}  // namespace

extern constinit const GradientPrimitive grad_direct{
    direct_name, 1, DeviceKind::cpu, &describe_direct,
    &prepare_without_scratch<DirectInputGradient, DirectWeightsGradient>};

}  // namespace znni::cpu
