#include "tests/support/sim_primitives.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>

#include "primitives/core/fragments.hpp"
#include "primitives/core/refusals.hpp"
#include "tests/oracle/oracle.hpp"
#include "tests/oracle/stacks.hpp"
#include "tests/support/host_sim.hpp"
#include "tests/support/layout.hpp"
#include "tests/support/rounding.hpp"

namespace znni::test {
namespace {

HostSim& sim_of(Device& device) {
  ensure(device.accelerator() != nullptr, "primitives of the simulated GPU run on it alone");
  return static_cast<HostSim&>(*device.accelerator());
}

std::int64_t floats_bytes(std::int64_t count) { return mul(count, std::int64_t{sizeof(float)}); }

// Returns the time of the arithmetic at the device's rate, plus that of a launch.
Seconds modelled(const LayerProblem& problem, const DeviceSpec& spec) {
  return 1e-6 + direct_flops(problem) / spec.flops_per_second;
}

std::int64_t kernel_floats(const ConvProblem& conv) { return mul(conv.f_out, mul(conv.in.f, voxels(conv.k))); }

Result<std::vector<Estimate>> describe_conv(const LayerProblem& problem, const DeviceSpec& spec) {
  const auto* conv = std::get_if<ConvProblem>(&problem);
  if (conv == nullptr || conv->groups != 1) return refused("computes convolutions without groups only");
  if (spec.kind != DeviceKind::gpu) return refused("runs on the simulated GPU alone");
  std::vector<Estimate> estimates;
  for (const Format format : {planar_f32, last_f32}) {
    Estimate estimate{{}, format, format, modelled(problem, spec), {}};
    estimate.memory = input_output_buffers(problem, format, format, 1, MemorySpace::device);
    const std::int64_t row = output_shape(problem).n.x;
    estimate.memory.push_back({"row sums", MemorySpace::device, floats_bytes(row), Lifetime::stages(0, 1)});
    estimate.memory.push_back({"marks", MemorySpace::device, 64, Lifetime::stages(0, 0)});
    estimate.memory.push_back({"kernels", MemorySpace::device, floats_bytes(kernel_floats(*conv)), Lifetime::plan()});
    estimate.memory.push_back({"bias", MemorySpace::device, floats_bytes(conv->f_out), Lifetime::plan()});
    estimates.push_back(std::move(estimate));
  }
  return estimates;
}

// Data of a launched convolution.
struct ConvRun {
  ConvProblem conv;
  TensorView in;
  TensorView residual;
  TensorView out;
  float* sums = nullptr;
  const float* kernels = nullptr;
  const float* bias = nullptr;

  void begin_row(std::int64_t s, std::int64_t j, Vec3 at) const {
    for (std::int64_t x = 0; x < out.shape.n.x; ++x) {
      sums[x] = conv.residual ? residual.at(s, j, {at.z, at.y, x}) : 0.0F;
    }
  }
  void add_taps(std::int64_t s, std::int64_t i, Vec3 at, const float* kernel) const {
    for (std::int64_t d = 0; d < voxels(conv.k); ++d) {
      const float* from = &in.at(s, i, at * conv.stride + conv.dilation * fragment_at(d, conv.k));
      const std::int64_t step = conv.stride.x * in.strides.x;
      for (std::int64_t x = 0; x < out.shape.n.x; ++x) sums[x] += kernel[d] * from[x * step];
    }
  }
  void end_row(std::int64_t s, std::int64_t j, Vec3 at) const {
    for (std::int64_t x = 0; x < out.shape.n.x; ++x) {
      out.at(s, j, {at.z, at.y, x}) = apply(conv.activation, sums[x] + bias[j]);
    }
  }
  void operator()() const {
    const Vec3 rows = {out.shape.n.z, out.shape.n.y, 1};
    for (std::int64_t channel = 0; channel < out.shape.S * out.shape.f; ++channel) {
      const std::int64_t s = channel / out.shape.f;
      const std::int64_t j = channel % out.shape.f;
      for (std::int64_t row = 0; row < voxels(rows); ++row) {
        const Vec3 at = fragment_at(row, rows);
        begin_row(s, j, at);
        for (std::int64_t i = 0; i < conv.in.f; ++i) {
          add_taps(s, i, at, kernels + (j * conv.in.f + i) * voxels(conv.k));
        }
        end_row(s, j, at);
      }
    }
  }
};

class ConvLayer final : public PreparedLayer {
 public:
  ConvLayer(const ConvProblem& conv, HostSim& sim, Seconds seconds, std::span<float> kernels, std::span<float> bias)
      : conv_(conv), sim_(sim), seconds_(seconds), kernels_(kernels), bias_(bias) {}

  Result<void> run(std::span<const TensorView> inputs, const TensorView& out, Arena& arena) override {
    if (Result<void> declared = check_places(inputs[0], out); !declared) return declared;
    for (const TensorView& input : inputs) ensure(input.data != out.data, "a layer does not write over its inputs");
    const std::span<std::byte> marks = arena.grant("marks");
    const std::span<float> sums = arena.grant_as<float>("row sums");
    if (Result<void> marked = sim_.fill(Stream::compute, marks, std::byte{1}); !marked) return marked;
    arena.stage(1);
    const TensorView residual = conv_.residual ? inputs[1] : TensorView();
    return sim_.launch(Stream::compute, seconds_,
                       ConvRun{conv_, inputs[0], residual, out, sums.data(), kernels_.data(), bias_.data()});
  }

 private:
  // Fails unless the tensors lie where the problem says, as a library does that plans for strides.
  [[nodiscard]] Result<void> check_places(const TensorView& in, const TensorView& out) const {
    const auto lies = [](const TensorView& view, Shape5 shape, std::int64_t before) {
      shape.n.z += before;
      return view.strides == dense_strides(shape, view.format);
    };
    if (lies(in, conv_.in, conv_.before.in) && lies(out, output_shape(conv_), conv_.before.out)) return {};
    return refused("the simulated library planned for tensors that lie elsewhere");
  }

  ConvProblem conv_;
  HostSim& sim_;
  Seconds seconds_;
  std::span<float> kernels_;
  std::span<float> bias_;
};

Result<std::unique_ptr<PreparedLayer>> prepare_conv(const LayerProblem& problem, const Estimate& chosen,
                                                    const LayerWeights& weights, Arena& persistent, Device& device) {
  const auto& conv = std::get<ConvProblem>(problem);
  HostSim& sim = sim_of(device);
  const std::span<float> kernels = persistent.grant_as<float>("kernels");
  const std::span<float> bias = persistent.grant_as<float>("bias");
  ensure(weights.kernels.size() == kernels.size(), "kernels of the problem's size");
  const std::vector<float> zeros(bias.size(), 0.0F);
  const std::span<const float> given = weights.bias.empty() ? std::span<const float>(zeros) : weights.bias;
  for (const auto& [to, from] : {std::pair{kernels, weights.kernels}, std::pair{bias, given}}) {
    Result<void> written = sim.write(reinterpret_cast<std::byte*>(to.data()), std::as_bytes(from));
    if (!written) return written.error();
  }
  return std::unique_ptr<PreparedLayer>(std::make_unique<ConvLayer>(conv, sim, chosen.time, kernels, bias));
}

// Computes any problem with the oracle; the output is rounded to its format.
struct OracleRun {
  LayerProblem problem;
  LayerWeights weights;
  std::vector<TensorView> inputs;
  TensorView out;
  std::vector<Vec3> starts = {};  // as PreparedLayer::place() says
  Vec3 whole = {};

  void operator()() const { run(Precision::fp32); }

  // Runs the oracle with the first input rounded to `factors`.
  void run(Precision factors) const {
    std::vector<oracle::Values> values;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      values.push_back(load_exactly(inputs[i], input_shape(problem, static_cast<int>(i))));
    }
    for (double& value : values.front()) value = rounded(static_cast<float>(value), factors);
    const auto* const stack = std::get_if<StackProblem>(&problem);
    store_rounded(stack == nullptr ? oracle::oracle_run(problem, values, weights)
                                   : oracle::stacked(*stack, values.front(), weights, starts, whole),
                  out);
  }
};

class OracleOnSim final : public PreparedLayer {
 public:
  OracleOnSim(LayerProblem problem, const LayerWeights& weights, HostSim& sim, Seconds seconds)
      : problem_(std::move(problem)), weights_(weights), sim_(sim), seconds_(seconds) {}

  Result<void> run(std::span<const TensorView> inputs, const TensorView& out, Arena&) override {
    return sim_.launch(Stream::compute, seconds_,
                       OracleRun{problem_, weights_, {inputs.begin(), inputs.end()}, out, starts_, whole_});
  }

  void place(std::span<const Vec3> starts, Vec3 whole) override {
    starts_.assign(starts.begin(), starts.end());
    whole_ = whole;
  }

 private:
  LayerProblem problem_;
  LayerWeights weights_;
  HostSim& sim_;
  Seconds seconds_;
  std::vector<Vec3> starts_;
  Vec3 whole_;
};

template <bool takes(const LayerProblem&)>
Result<std::vector<Estimate>> describe_by_oracle(const LayerProblem& problem, const DeviceSpec& spec) {
  if (!takes(problem)) return refused("computes another kind of layer");
  if (spec.kind != DeviceKind::gpu) return refused("runs on the simulated GPU alone");
  std::vector<Estimate> estimates;
  for (const Format format : all_edge_formats) {
    estimates.push_back({{},
                         format,
                         format,
                         modelled(problem, spec),
                         input_output_buffers(problem, format, format, 0, MemorySpace::device)});
  }
  return estimates;
}

Result<std::unique_ptr<PreparedLayer>> prepare_by_oracle(const LayerProblem& problem, const Estimate& chosen,
                                                         const LayerWeights& weights, Arena&, Device& device) {
  return std::unique_ptr<PreparedLayer>(std::make_unique<OracleOnSim>(problem, weights, sim_of(device), chosen.time));
}

template <PoolKind kind, PoolMode mode>
bool pools(const LayerProblem& problem) {
  const auto* pool = std::get_if<PoolProblem>(&problem);
  return pool != nullptr && pool->kind == kind && (pool->mode == mode || kind == PoolKind::average);
}

// Describes a convolution on matrix units: channels last, in TF32 or bf16, if the device has a rate for it.
Result<std::vector<Estimate>> describe_matrix(const LayerProblem& problem, const DeviceSpec& spec) {
  const auto* conv = std::get_if<ConvProblem>(&problem);
  if (conv == nullptr || conv->groups != 1) return refused("computes convolutions without groups only");
  if (spec.kind != DeviceKind::gpu) return refused("runs on the simulated GPU alone");
  std::vector<Estimate> estimates;
  for (const auto& [format, rate] : {std::pair{last_f32, spec.accelerator.tf32_flops_per_second},
                                     std::pair{last_bf16, spec.accelerator.bf16_flops_per_second}}) {
    if (rate <= 0) continue;
    Estimate estimate{{}, format, format, 1e-6 + direct_flops(problem) / rate, {}};
    if (format == last_f32) estimate.variant = {{"tf32", 1}};
    estimate.memory = input_output_buffers(problem, format, format, 0, MemorySpace::device);
    const std::int64_t weights = mul(kernel_floats(*conv), element_bytes(format.type));
    estimate.memory.push_back({"kernels", MemorySpace::device, weights, Lifetime::plan()});
    estimates.push_back(std::move(estimate));
  }
  if (estimates.empty()) return refused("has no rate for any precision");
  return estimates;
}

// Computes products of rounded factors; all other arithmetic is exact.
struct MatrixRun {
  OracleRun run;
  TensorView kernels;  // [1][count][1][1][1], in the tensors' element type
  Precision precision;

  void operator()() const {
    std::vector<float> factors(static_cast<std::size_t>(kernels.shape.f));
    for (std::size_t i = 0; i < factors.size(); ++i) {
      factors[i] = rounded(get(kernels, 0, static_cast<std::int64_t>(i), {}), precision);
    }
    OracleRun own = run;
    own.weights.kernels = factors;
    own.run(precision);
  }
};

class MatrixLayer final : public PreparedLayer {
 public:
  MatrixLayer(OracleRun run, const TensorView& kernels, Precision precision, HostSim& sim, Seconds seconds)
      : run_(std::move(run)), kernels_(kernels), precision_(precision), sim_(sim), seconds_(seconds) {}

  Result<void> run(std::span<const TensorView> inputs, const TensorView& out, Arena&) override {
    OracleRun own{run_.problem, run_.weights, {inputs.begin(), inputs.end()}, out};
    return sim_.launch(Stream::compute, seconds_, MatrixRun{std::move(own), kernels_, precision_});
  }

 private:
  OracleRun run_;
  TensorView kernels_;
  Precision precision_;
  HostSim& sim_;
  Seconds seconds_;
};

Result<std::unique_ptr<PreparedLayer>> prepare_matrix(const LayerProblem& problem, const Estimate& chosen,
                                                      const LayerWeights& weights, Arena& persistent, Device& device) {
  HostSim& sim = sim_of(device);
  const std::span<std::byte> block = persistent.grant("kernels");
  const Shape5 shape{1, std::ssize(weights.kernels), Vec3::cube(1)};
  std::vector<float> own(weights.kernels.size());
  const TensorView laid = dense_view(own.data(), shape, chosen.in);
  for (std::int64_t i = 0; i < shape.f; ++i) set(laid, 0, i, {}, weights.kernels[static_cast<std::size_t>(i)]);
  const Result<void> written = sim.write(block.data(), std::as_bytes(std::span(own)).first(block.size()));
  if (!written) return written.error();
  const TensorView kernels = dense_view(reinterpret_cast<float*>(block.data()), shape, chosen.in);
  const Precision precision = precision_of(chosen.variant, chosen.in, chosen.out);
  return std::unique_ptr<PreparedLayer>(
      std::make_unique<MatrixLayer>(OracleRun{problem, weights, {}, {}}, kernels, precision, sim, chosen.time));
}

Result<std::vector<Estimate>> describe_reorder(const LayerProblem& problem, const DeviceSpec& spec) {
  const auto* reorder = std::get_if<ReorderProblem>(&problem);
  const bool takes =
      reorder != nullptr && precision_of(reorder->from) && precision_of(reorder->to) && reorder->from != reorder->to;
  if (!takes) return refused("reorders between planar float32 and channels last of float32 and bf16 only");
  if (spec.kind != DeviceKind::gpu) return refused("runs on the simulated GPU alone");
  const auto bytes =
      static_cast<double>(tensor_bytes(reorder->in, reorder->from) + tensor_bytes(reorder->in, reorder->to));
  return std::vector<Estimate>{{{},
                                reorder->from,
                                reorder->to,
                                1e-6 + bytes / spec.bytes_per_second,
                                input_output_buffers(problem, reorder->from, reorder->to, 0, MemorySpace::device)}};
}

bool is_conv_pool(const LayerProblem& problem) { return std::holds_alternative<ConvPoolProblem>(problem); }

// Returns true for what no other primitive of the table takes, convolutions with groups among them.
bool is_elementwise(const LayerProblem& problem) {
  if (const auto* conv = std::get_if<ConvProblem>(&problem)) return conv->groups != 1;
  return !std::holds_alternative<PoolProblem>(problem) && !std::holds_alternative<ReorderProblem>(problem) &&
         !is_conv_pool(problem);
}

constinit const Primitive conv{"sim.conv", 1, DeviceKind::gpu, describe_conv, prepare_conv};
constinit const Primitive conv_matrix{"sim.conv_matrix", 1, DeviceKind::gpu, describe_matrix, prepare_matrix};
constinit const Primitive reorder{"sim.reorder", 1, DeviceKind::gpu, describe_reorder, prepare_by_oracle};
constinit const Primitive pool_max{"sim.pool_max", 1, DeviceKind::gpu,
                                   describe_by_oracle<pools<PoolKind::max, PoolMode::plain>>, prepare_by_oracle};
constinit const Primitive pool_mpf{"sim.pool_mpf", 1, DeviceKind::gpu,
                                   describe_by_oracle<pools<PoolKind::max, PoolMode::fragments>>, prepare_by_oracle};
constinit const Primitive pool_average{"sim.pool_average", 1, DeviceKind::gpu,
                                       describe_by_oracle<pools<PoolKind::average, PoolMode::plain>>,
                                       prepare_by_oracle};
constinit const Primitive elementwise{"sim.elementwise", 1, DeviceKind::gpu, describe_by_oracle<is_elementwise>,
                                      prepare_by_oracle};
constinit const Primitive conv_pool{"sim.conv_pool", 1, DeviceKind::gpu, describe_by_oracle<is_conv_pool>,
                                    prepare_by_oracle};

std::vector<DeviceSpec> probe() { return {host_sim_spec()}; }

Result<std::unique_ptr<Device>> open(const DeviceSpec& spec, std::int64_t host_budget, std::int64_t pinned_budget,
                                     std::int64_t device_budget) {
  return std::unique_ptr<Device>(
      std::make_unique<HostSim>(HostSimOptions{spec, host_budget, pinned_budget, device_budget, 0}));
}

constexpr std::array<const Primitive*, 7> table = {&conv,     &conv_matrix,  &reorder,    &pool_max,
                                                   &pool_mpf, &pool_average, &elementwise};
const Backend row{"sim", probe, open, table};

}  // namespace

const Backend& sim_backend() { return row; }
const Primitive& sim_conv() { return conv; }
const Primitive& sim_conv_matrix() { return conv_matrix; }
const Primitive& sim_reorder() { return reorder; }
const Primitive& sim_conv_pool() { return conv_pool; }

}  // namespace znni::test
