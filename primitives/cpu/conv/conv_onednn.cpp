// Direct convolution by oneDNN, in channel-blocked layout. Dense tensors go to the library directly. It accepts no
// others, so windows of larger tensors pass through a small dense slab, a few rows of the output at a time.
#include <algorithm>
#include <utility>

#include "primitives/cpu/conv/onednn_convolution.hpp"
#include "primitives/cpu/device/estimates.hpp"
#include "primitives/cpu/elementwise/runs.hpp"
#include "primitives/cpu/vectors/activate.hpp"

namespace znni::cpu {
namespace {

constexpr std::string_view name = "cpu.conv.onednn";

constexpr std::string_view weights_name = "reordered weights";
constexpr std::string_view bias_name = "bias";
constexpr std::string_view workspace_name = "library workspace";
constexpr std::string_view slab_in_name = "slab of input rows";
constexpr std::string_view slab_out_name = "slab of output rows";
constexpr std::string_view slab_residual_name = "slab of residual rows";

// The slabs may take 1/64 of the bytes of the tensors.
constexpr std::int64_t slab_part = 64;

// Measured fractions of the peak rate. Dilated taps use only half of the cache lines.
constexpr double efficiency = 0.90;
constexpr double dilated_efficiency = 0.75;
constexpr double strided_efficiency = 0.55;
constexpr double planar_efficiency = 1.00;

// Returns one slab: `rows` rows of one output plane, from k.z input planes side by side.
ConvProblem slab_of(const ConvProblem& problem, std::int64_t rows) {
  ConvProblem slab = problem;
  slab.in.S = 1;
  const std::int64_t window = problem.dilation.y * (problem.k.y - 1) + 1;
  slab.in.n = {problem.k.z, problem.stride.y * (rows - 1) + window, problem.in.n.x};
  slab.dilation.z = 1;
  return slab;
}

std::int64_t slab_bytes(const ConvProblem& problem, std::int64_t rows, Format in, Format out) {
  const ConvProblem slab = slab_of(problem, rows);
  return add(tensor_bytes(slab.in, in), mul(slab.residual ? 2 : 1, tensor_bytes(output_shape(slab), out)));
}

// Returns the largest number of rows that fit into the slabs' share; at least one.
std::int64_t slab_rows(const ConvProblem& problem, Format in, Format out) {
  const std::int64_t share = add(tensor_bytes(problem.in, in), tensor_bytes(output_shape(problem), out)) / slab_part;
  std::int64_t fits = 1;
  std::int64_t too_many = output_shape(problem).n.y + 1;
  while (too_many - fits > 1) {
    const std::int64_t middle = fits + (too_many - fits) / 2;
    (slab_bytes(problem, middle, in, out) <= share ? fits : too_many) = middle;
  }
  return fits;
}

// The convolution of whole tensors and that of a slab; they share their weights.
struct Convolutions {
  OnednnConvolution whole;
  OnednnConvolution slab;
  ConvProblem slab_problem;

  [[nodiscard]] std::int64_t workspace_bytes() const {
    return std::max(whole.workspace_bytes(), slab.workspace_bytes());
  }
};

Result<Convolutions> convolutions(const ConvProblem& problem, Format in, Format out, int threads) {
  Result<OnednnConvolution> whole = OnednnConvolution::describe(problem, in, out, threads);
  if (!whole) return whole.error();
  const ConvProblem slab_problem = slab_of(problem, slab_rows(problem, in, out));
  Result<OnednnConvolution> slab = OnednnConvolution::describe_like(*whole, slab_problem);
  if (!slab) return slab.error();
  return Convolutions{std::move(*whole), std::move(*slab), slab_problem};
}

// Returns true if `view` is dense, ignoring strides of axes with extent 1.
bool dense(const TensorView& view) {
  Strides expected = dense_strides(view.shape, view.format);
  if (view.shape.S == 1) expected.S = view.strides.S;
  if (view.shape.f <= block_width(view.format.layout)) expected.f = view.strides.f;
  if (view.shape.n.z == 1) expected.z = view.strides.z;
  if (view.shape.n.y == 1) expected.y = view.strides.y;
  return view.strides == expected;
}

void copy_row(const float* from, std::int64_t from_step, float* to, std::int64_t to_step, std::int64_t voxels,
              std::int64_t width) {
  if (from_step == width && to_step == width) {
    std::copy_n(from, voxels * width, to);
    return;
  }
  for (std::int64_t x = 0; x < voxels; ++x) std::copy_n(from + x * from_step, width, to + x * to_step);
}

class OnednnLayer final : public PreparedLayer {
 public:
  OnednnLayer(const ConvProblem& problem, Convolutions convolutions, std::span<const std::byte> weights,
              std::span<const float> bias, Executor& executor)
      : problem_(problem),
        convolutions_(std::move(convolutions)),
        weights_(weights),
        bias_(bias),
        executor_(executor) {}

  Result<void> run(std::span<const TensorView> inputs, const TensorView& out, Arena& arena) override {
    std::byte* workspace = convolutions_.workspace_bytes() > 0 ? arena.grant(workspace_name).data() : nullptr;
    const std::span<float> slab_in = arena.grant_as<float>(slab_in_name);
    const std::span<float> slab_out = arena.grant_as<float>(slab_out_name);
    const std::span<float> slab_residual =
        problem_.residual ? arena.grant_as<float>(slab_residual_name) : std::span<float>();
    if (std::all_of(inputs.begin(), inputs.end(), dense) && dense(out)) {
      const float* residual = problem_.residual ? inputs[1].data : nullptr;
      const Result<void> done =
          convolutions_.whole.run({inputs[0].data, residual, weights_.data(), bias_.data(), out.data, workspace});
      if (done) activate_apart(out);
      return done;
    }
    const Shape5 shape = output_shape(convolutions_.slab_problem);
    const Slabs slabs{dense_view(slab_in.data(), convolutions_.slab_problem.in, inputs[0].format),
                      dense_view(slab_residual.data(), shape, out.format),
                      dense_view(slab_out.data(), shape, out.format)};
    return run_in_slabs(inputs, out, slabs, workspace);
  }

 private:
  struct Slabs {
    TensorView in;
    TensorView residual;  // without data if there is no residual
    TensorView out;
  };

  Result<void> run_in_slabs(std::span<const TensorView> inputs, const TensorView& out, const Slabs& slabs,
                            std::byte* workspace) {
    const Vec3 n_out = out.shape.n;
    const std::int64_t rows = slabs.out.shape.n.y;
    for (std::int64_t s = 0; s < out.shape.S; ++s) {
      for (std::int64_t z = 0; z < n_out.z; ++z) {
        for (std::int64_t y = 0; y < n_out.y; y += rows) {
          const std::int64_t first = std::min(y, n_out.y - rows);  // the last slab overlaps the one before
          fill(inputs[0], slabs.in, s, problem_.stride * Vec3{z, first, 0}, problem_.dilation.z);
          if (problem_.residual) fill(inputs[1], slabs.residual, s, {z, first, 0}, 1);
          const Result<void> done = convolutions_.slab.run(
              {slabs.in.data, slabs.residual.data, weights_.data(), bias_.data(), slabs.out.data, workspace});
          if (!done) return done;
          activate_apart(slabs.out);
          empty(slabs.out, out, s, z, first);
        }
      }
    }
    return {};
  }

  // Applies an activation that the library does not fuse to what it wrote.
  void activate_apart(const TensorView& out) {
    if (OnednnConvolution::fuses(problem_.activation.kind)) return;
    const std::int64_t width = block_width(out.format.layout);
    for_each_run(executor_, out, {}, blocks_of(out), [&](const Run& run, int) {
      const std::span<float> values = run_of(out, run);
      activate(problem_.activation, values);
      clear_lanes(values, out.shape.f - run.block * width, width);
    });
  }

  // Copies the slab's rows of an input, from `start` on, with all their channels; the input planes are `step` apart.
  void fill(const TensorView& in, const TensorView& slab, std::int64_t s, Vec3 start, std::int64_t step) {
    const std::int64_t width = block_width(in.format.layout);
    executor_.parallel_for(div_up(in.shape.f, width), [&](std::int64_t block, int) {
      for (std::int64_t tap = 0; tap < slab.shape.n.z; ++tap) {
        for (std::int64_t row = 0; row < slab.shape.n.y; ++row) {
          const float* from = &in.at(s, block * width, {start.z + step * tap, start.y + row, 0});
          float* to = &slab.at(0, block * width, {tap, row, 0});
          copy_row(from, in.strides.x, to, slab.strides.x, in.shape.n.x, width);
        }
      }
    });
  }

  void empty(const TensorView& slab, const TensorView& out, std::int64_t s, std::int64_t z, std::int64_t y) {
    const std::int64_t width = block_width(out.format.layout);
    executor_.parallel_for(div_up(out.shape.f, width), [&](std::int64_t block, int) {
      for (std::int64_t row = 0; row < slab.shape.n.y; ++row) {
        const float* from = &slab.at(0, block * width, {0, row, 0});
        float* to = &out.at(s, block * width, {z, y + row, 0});
        copy_row(from, slab.strides.x, to, out.strides.x, out.shape.n.x, width);
      }
    });
  }

  ConvProblem problem_;
  Convolutions convolutions_;
  std::span<const std::byte> weights_;
  std::span<const float> bias_;
  Executor& executor_;
};

double blocked_efficiency(const ConvProblem& problem) {
  if (problem.stride != Vec3::cube(1)) return strided_efficiency;
  return problem.dilation == Vec3::cube(1) ? efficiency : dilated_efficiency;
}

Seconds seconds(const ConvProblem& problem, const DeviceSpec& spec, Format in, Format out) {
  ConvProblem padded = problem;
  padded.in.f = round_up(problem.in.f, block_width(in.layout));
  padded.f_out = round_up(problem.f_out, block_width(out.layout));
  const auto written = static_cast<double>(tensor_bytes(output_shape(problem), out));
  const bool fuses = OnednnConvolution::fuses(problem.activation.kind);
  const double bytes = tensor_traffic(problem, in, out) + (fuses ? 0.0 : 2.0 * written);
  const double activating =
      static_cast<double>(elements(output_shape(padded))) * late_activation_flops(problem.activation, spec);
  if (in == planar_format) {
    // A first layer computes little for each voxel that it writes; written memory is also read first.
    return modelled_time(spec, direct_flops(padded) / planar_efficiency + activating, 1.0, bytes + written);
  }
  return modelled_time(spec, direct_flops(padded) / blocked_efficiency(problem) + activating, 1.0, bytes);
}

// Returns what describe() may offer.
std::vector<Estimate> outline(const LayerProblem& problem, const DeviceSpec& spec) {
  const auto* conv = std::get_if<ConvProblem>(&problem);
  if (conv == nullptr || conv->groups != 1 || spec.simd_floats < 8) return {};
  const Format blocked = blocked_format(spec);
  std::vector<Estimate> estimates;
  for (const Format in : {planar_format, blocked}) {
    // The library reads planar channels only in the kernels it has for first layers.
    if (in == planar_format && conv->in.f >= block_width(blocked.layout)) continue;
    estimates.push_back({{}, in, blocked, seconds(*conv, spec, in, blocked), {}});
  }
  return estimates;
}

// Fills in the memory of what was outlined.
Result<Estimate> estimate(const ConvProblem& problem, const DeviceSpec& spec, Estimate result) {
  const Format in = result.in;
  const Format out = result.out;
  const Result<Convolutions> described = convolutions(problem, in, out, spec.threads);
  if (!described) return described.error();
  result.memory = input_output_buffers(problem, in, out);
  const ConvProblem& slab = described->slab_problem;
  const auto declare = [&](std::string_view buffer, std::int64_t bytes, Lifetime lifetime) {
    if (bytes > 0) result.memory.push_back({std::string(buffer), MemorySpace::host, bytes, lifetime});
  };
  declare(weights_name, described->whole.weights_bytes(), Lifetime::plan());
  declare(bias_name, float_bytes(problem.f_out), Lifetime::plan());
  declare(workspace_name, described->workspace_bytes(), Lifetime::stages(0, 0));
  declare(slab_in_name, tensor_bytes(slab.in, in), Lifetime::stages(0, 0));
  declare(slab_out_name, tensor_bytes(output_shape(slab), out), Lifetime::stages(0, 0));
  if (slab.residual) declare(slab_residual_name, tensor_bytes(output_shape(slab), out), Lifetime::stages(0, 0));
  return result;
}

Result<std::vector<Estimate>> describe(const LayerProblem& problem, const DeviceSpec& spec) {
  const auto* conv = std::get_if<ConvProblem>(&problem);
  if (conv == nullptr || conv->groups != 1) return refusal(name, "convolutions without groups", problem);
  if (spec.simd_floats < 8) {
    return Error{ErrorCode::unsupported, std::string(name) + " has only reference code for vectors of " +
                                             std::to_string(spec.simd_floats) + " floats; it needs AVX2 or AVX-512"};
  }
  std::vector<Estimate> estimates;
  Error last;
  for (Estimate& outlined : outline(problem, spec)) {
    Result<Estimate> offered = estimate(*conv, spec, std::move(outlined));
    if (offered) {
      estimates.push_back(std::move(*offered));
    } else {
      last = offered.error();
    }
  }
  if (estimates.empty()) return Error{last.code, std::string(name) + " takes no such layer: " + last.message};
  return estimates;
}

Result<std::unique_ptr<PreparedLayer>> prepare(const LayerProblem& problem, const Estimate& chosen,
                                               const LayerWeights& weights, Arena& persistent, Device& device) {
  const auto* conv = std::get_if<ConvProblem>(&problem);
  ensure(conv != nullptr, "describe() refuses what is no convolution");
  Result<Convolutions> made = convolutions(*conv, chosen.in, chosen.out, device.executor().workers());
  if (!made) return made.error().within(name);
  for (OnednnConvolution* convolution : {&made->whole, &made->slab}) {
    if (Result<void> built = convolution->build(); !built) return built.error().within(name);
  }
  const std::span<std::byte> reordered = persistent.grant(weights_name);
  ensure(static_cast<std::int64_t>(reordered.size()) == made->whole.weights_bytes(),
         "weights are as large as they were described");
  if (Result<void> done = made->whole.reorder_weights(weights.kernels.data(), reordered.data()); !done) {
    return done.error().within(name);
  }
  const std::span<float> bias = persistent.grant_as<float>(bias_name);
  copy_padded(weights.bias, bias);
  return std::unique_ptr<PreparedLayer>(
      std::make_unique<OnednnLayer>(*conv, std::move(*made), reordered, bias, device.executor()));
}

}  // namespace

extern const Primitive conv_onednn;
constinit const Primitive conv_onednn{name, 3, DeviceKind::cpu, &describe, &prepare, nullptr, &outline};

}  // namespace znni::cpu
