// cuda.conv.cudnn: direct convolution by cuDNN's backend interface, one variant per engine. The format says the
// precision: planar float32 is computed in float32 throughout; channels last float32 takes TF32 (setting tf32 = 1);
// channels last bf16 sums in float32. Form 1 fuses bias and activation; form 2 asks for the convolution as a gradient,
// for which cuDNN 9.19 has faster kernels where k^3 > 32; forms 0 and 2 end in a kernel of our own.
#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <tuple>

#include "primitives/cuda/conv/cudnn_device.hpp"
#include "primitives/cuda/conv/cudnn_engines.hpp"
#include "primitives/cuda/device/cuda_device.hpp"
#include "primitives/cuda/device/status.hpp"
#include "primitives/cuda/elementwise/elementwise_layer.hpp"
#include "primitives/cuda/kernels/elementwise_kernel.hpp"
#include "primitives/gpu/areas.hpp"
#include "primitives/gpu/element.hpp"
#include "primitives/gpu/estimates.hpp"
#include "primitives/gpu/known_answers.hpp"
#include "primitives/gpu/views.hpp"

namespace znni::cuda {
namespace {

constexpr std::string_view cudnn_name = "cuda.conv.cudnn";
constexpr std::string_view kernels_name = "kernels";
constexpr std::string_view bias_name = "bias";
constexpr std::string_view workspace_name = "library workspace";

// Engines offered per format and form.
constexpr std::size_t max_engines = 8;

// Shares of the units' rates that engines reach. Assumed until measured: kernels of more than 32 taps do not run in the
// newest matrix instructions.
constexpr double cudnn_share_of_float32 = 0.70;
constexpr double share_of_matrix_units = 0.56;
constexpr double share_of_many_taps = 0.36;
constexpr std::int64_t many_taps = 32;
// Channels of a group that fill matrix instructions: of fewer, the rest computes nothing.
constexpr std::int64_t channels_of_units = 16;
// Each engine further down the library's ranking.
constexpr double rank_factor = 1.05;

double units_rate(const DeviceSpec& spec, Precision precision) {
  if (precision == Precision::bf16) return spec.accelerator.bf16_flops_per_second;
  return precision == Precision::tf32 ? spec.accelerator.tf32_flops_per_second : spec.flops_per_second;
}

// Returns the operations per second of an engine.
double rate_of(const ConvProblem& conv, const DeviceSpec& spec, Format format, CudnnForm form, bool matrix_units) {
  if (!matrix_units) return spec.flops_per_second * cudnn_share_of_float32;
  const bool many = voxels(conv.k) > many_taps && form != CudnnForm::swapped;
  const double share = many ? share_of_many_taps : share_of_matrix_units;
  if (conv.groups == 1) return units_rate(spec, *precision_of(format)) * share;
  const std::int64_t filled = std::min(conv.in.f / conv.groups, channels_of_units);
  return units_rate(spec, *precision_of(format)) * share * static_cast<double>(filled) / channels_of_units;
}

Seconds seconds(const ConvProblem& conv, const DeviceSpec& spec, Format format, CudnnForm form, double rate,
                std::int64_t workspace_bytes) {
  double bytes = tensor_traffic(conv, format, format) + 2.0 * static_cast<double>(workspace_bytes);
  int launches = 1;
  if (!ends_convolution(conv, form)) {  // read, ended and written once more
    bytes += 2.0 * static_cast<double>(tensor_bytes(output_shape(conv), format));
    ++launches;
  }
  return modelled_time(spec, direct_flops(conv) / rate, bytes, launches);
}

Seconds seconds(const ConvProblem& conv, const DeviceSpec& spec, Format format, CudnnForm form,
                const EngineChoice& engine, std::size_t rank) {
  const double rate = rate_of(conv, spec, format, form, engine.matrix_units);
  Seconds time = seconds(conv, spec, format, form, rate, engine.workspace_bytes);
  for (std::size_t i = 0; i < rank; ++i) time *= rank_factor;
  return time;
}

Estimate estimate_cudnn(const ConvProblem& conv, const DeviceSpec& spec, Format format, CudnnForm form,
                        const EngineChoice& engine, std::size_t rank) {
  Estimate result{to_variant(engine), format, format, seconds(conv, spec, format, form, engine, rank),
                  input_output_buffers(conv, format, format, 0, MemorySpace::device)};
  result.variant.insert(result.variant.begin(), {"form", static_cast<std::int64_t>(form)});
  if (format == last_f32) result.variant.push_back({"tf32", 1});
  const std::int64_t weights = mul(mul(conv.f_out, terms_of(conv)), element_bytes(format.type));
  result.memory.push_back({std::string(kernels_name), MemorySpace::device, weights, Lifetime::plan()});
  result.memory.push_back({std::string(bias_name), MemorySpace::device, float_bytes(conv.f_out), Lifetime::plan()});
  if (engine.workspace_bytes > 0) {
    result.memory.push_back(
        {std::string(workspace_name), MemorySpace::device, area_bytes(engine.workspace_bytes), Lifetime::stages(0, 0)});
  }
  return result;
}

using Engines = std::vector<EngineChoice>;

Result<Engines> find_engines(const ConvProblem& conv, const DeviceSpec& spec, Format format, CudnnForm form) {
  const Result<CudnnDescriptor> device = cudnn_device(spec);
  if (!device) return device.error();
  const Result<CudnnGraph> graph = make_graph(declared_convolution(conv, format, form));
  if (!graph) return graph.error();
  return offered_engines(*graph, *device, *precision_of(format), max_engines);
}

// Returns what the library says for one device. The library takes several milliseconds, so it is asked once, however
// often a layer is described: for a search, for every part that is the same, for the plan that is checked and opened.
// describe() has no memory of its own, so this lives as long as the module; some hundred bytes an answer.
Result<Engines> engines_of(const ConvProblem& conv, const DeviceSpec& spec, Format format, CudnnForm form) {
  using Question = std::tuple<std::string, ConvProblem, Format, CudnnForm>;
  constexpr std::size_t max_known = 1 << 14;
  static KnownAnswers<Question, Engines> known(max_known);
  return known.get({spec.name, conv, format, form}, [&] { return find_engines(conv, spec, format, form); });
}

// Adds the estimates of a form. Fails with the library's reason if it takes no form at all.
Result<void> add_estimates(const ConvProblem& conv, const DeviceSpec& spec, Format format, CudnnForm form,
                           std::vector<Estimate>& estimates) {
  const Result<Engines> engines = engines_of(conv, spec, format, form);
  if (!engines) return engines.error();
  for (std::size_t rank = 0; rank < engines->size(); ++rank) {
    estimates.push_back(estimate_cudnn(conv, spec, format, form, (*engines)[rank], rank));
  }
  return {};
}

// Visits every form and format that the library is asked for.
template <class Visit>
void visit_forms(const ConvProblem& conv, const DeviceSpec& spec, const Visit& visit) {
  for (const Format format : gpu_formats(spec)) {
    for (const CudnnForm form : {CudnnForm::fused, CudnnForm::plain, CudnnForm::swapped}) {
      if (form == CudnnForm::fused && !can_fuse(conv)) continue;
      if (form == CudnnForm::swapped && (format == planar_f32 || !is_plain(conv))) continue;
      visit(format, form);
    }
  }
}

Result<std::vector<Estimate>> describe_cudnn(const LayerProblem& problem, const DeviceSpec& spec) {
  const auto* conv = std::get_if<ConvProblem>(&problem);
  if (conv == nullptr) return refusal(cudnn_name, "convolutions", problem);
  if (Result<void> gpu = check_gpu(cudnn_name, spec); !gpu) return gpu.error();
  std::vector<Estimate> estimates;
  std::string last;
  visit_forms(*conv, spec, [&](Format format, CudnnForm form) {
    const Result<void> added = add_estimates(*conv, spec, format, form, estimates);
    if (!added) last = added.error().message;
  });
  if (!estimates.empty()) return estimates;
  return Error{ErrorCode::unsupported, std::string(cudnn_name) + " finds no engine for " + to_string(problem) +
                                           (last.empty() ? "" : ": " + last)};
}

// Returns a lower bound of the time: that of engines of either kind, the first of the ranking and without a workspace,
// even if there are none.
Seconds min_cudnn_time(const LayerProblem& problem, const DeviceSpec& spec) {
  const auto* conv = std::get_if<ConvProblem>(&problem);
  Seconds least = std::numeric_limits<Seconds>::infinity();
  if (conv == nullptr || !check_gpu(cudnn_name, spec)) return least;
  visit_forms(*conv, spec, [&](Format format, CudnnForm form) {
    const double rate = std::max(rate_of(*conv, spec, format, form, true), rate_of(*conv, spec, format, form, false));
    least = std::min(least, seconds(*conv, spec, format, form, rate, 0));
  });
  return least;
}

// A graph and its plan for tensors of certain strides and alignments.
struct Planned {
  CudnnConvolution convolution;
  CudnnGraph graph;
  CudnnPlan plan;

  [[nodiscard]] bool serves(const CudnnConvolution& other) const {
    return convolution.in_strides == other.in_strides && convolution.out_strides == other.out_strides &&
           convolution.in_alignment <= other.in_alignment && convolution.out_alignment <= other.out_alignment;
  }
};

std::int64_t alignment_of(const TensorView& view) {
  return alignment_at(static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(view.data) % max_alignment));
}

class CudnnLayer final : public PreparedLayer {
 public:
  CudnnLayer(const ConvProblem& conv, const Estimate& chosen, CudaDevice& device, cudnnHandle_t handle,
             std::byte* kernels, std::byte* bias)
      : convolution_(declared_convolution(conv, chosen.in, static_cast<CudnnForm>(setting(chosen.variant, "form", 0)))),
        engine_(from_variant(chosen.variant)),
        device_(device),
        handle_(handle),
        kernels_(kernels),
        bias_(bias) {
    for (const Buffer& buffer : chosen.memory) {
      if (buffer.name == workspace_name) workspace_bytes_ = buffer.bytes - area_alignment;
    }
  }

  // Finds a plan that serves, or makes one.
  Result<const Planned*> plan_for(const CudnnConvolution& convolution) {
    for (const Planned& made : planned_) {
      if (made.serves(convolution)) return &made;
    }
    Result<CudnnGraph> graph = make_graph(convolution, handle_);
    if (!graph) return graph.error().within(cudnn_name);
    Result<CudnnPlan> plan = make_plan(*graph, engine_, *precision_of(convolution.in), handle_);
    if (!plan) return plan.error().within(cudnn_name);
    const Result<std::int64_t> bytes = workspace_of(plan->plan);
    if (!bytes) return bytes.error().within(cudnn_name);
    if (*bytes > workspace_bytes_) {
      return Error{ErrorCode::over_budget, std::string(cudnn_name) + ": engine " + std::to_string(engine_.engine) +
                                               " takes a workspace of " + bytes_text(*bytes) +
                                               " on this device and for these strides, " +
                                               bytes_text(workspace_bytes_) + " were planned; plan again"};
    }
    planned_.push_back({convolution, std::move(*graph), std::move(*plan)});
    return &planned_.back();
  }
  Result<const Planned*> plan_declared() { return plan_for(convolution_); }

  Result<void> run(std::span<const TensorView> inputs, const TensorView& out, Arena& arena) override {
    if (Result<void> current = device_.activate(); !current) return current;
    std::byte* const workspace = workspace_bytes_ > 0 ? aligned_area(arena.grant(workspace_name)).data() : nullptr;
    CudnnConvolution found = convolution_;
    found.in_strides = inputs[0].strides;
    found.out_strides = out.strides;
    found.in_alignment = alignment_of(inputs[0]);
    found.out_alignment = alignment_of(out);
    const Result<const Planned*> planned = plan_for(found);
    if (!planned) return planned.error();
    if (Result<void> done = execute(**planned, inputs[0], out, workspace); !done) return done;
    if (ends_convolution(convolution_.conv, convolution_.form)) return {};
    return end(inputs, out);
  }

 private:
  Result<void> execute(const Planned& planned, const TensorView& in, const TensorView& out, std::byte* workspace) {
    const bool fused = convolution_.form == CudnnForm::fused;
    const std::array<std::int64_t, 4> names = {
        static_cast<std::int64_t>(CudnnTensor::in), static_cast<std::int64_t>(CudnnTensor::kernels),
        static_cast<std::int64_t>(CudnnTensor::out), static_cast<std::int64_t>(CudnnTensor::bias)};
    const std::array<void*, 4> pointers = {in.data, kernels_, out.data, bias_};
    const std::int64_t count = fused ? 4 : 3;
    void* const area = workspace;
    CudnnDescriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, "variant pack");
    pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, count, names.data());
    pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, count, pointers.data());
    pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &area);
    if (Result<void> made = pack.finalise(); !made) return made;
    return check(cudnnBackendExecute(handle_, planned.plan.plan.get(), pack.get()), cudnn_name);
  }

  // Applies bias, residual and activation, in place.
  Result<void> end(std::span<const TensorView> inputs, const TensorView& out) {
    const std::array<TensorView, 2> terms = {out, inputs.back()};
    const std::size_t count = convolution_.conv.residual ? 2 : 1;
    ElementwiseArg arg = elementwise_arg(std::span(terms).first(count), out, convolution_.conv.activation);
    arg.of.shift = reinterpret_cast<const float*>(bias_);
    return check(launch_elementwise(arg, storage_of(out.format.type), device_.stream(Stream::compute)), cudnn_name);
  }

  CudnnConvolution convolution_;
  EngineChoice engine_;
  CudaDevice& device_;
  cudnnHandle_t handle_;
  std::byte* kernels_;
  std::byte* bias_;  // floats, but of the tensors' type where cuDNN adds it
  std::int64_t workspace_bytes_ = 0;
  std::vector<Planned> planned_;
};

// Returns `values` as elements of `type`.
std::vector<std::byte> elements_of(std::span<const float> values, ElementType type) {
  const auto bytes = static_cast<std::size_t>(element_bytes(type));
  std::vector<std::byte> made(values.size() * bytes);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Bfloat narrowed = narrow(values[i], Bfloat());
    const void* const from = type == ElementType::bf16 ? static_cast<const void*>(&narrowed) : &values[i];
    std::copy_n(static_cast<const std::byte*>(from), bytes, made.data() + i * bytes);
  }
  return made;
}

Result<std::byte*> load(CudaDevice& device, Arena& persistent, std::string_view buffer,
                        const std::vector<std::byte>& bytes) {
  const std::span<std::byte> block = persistent.grant(buffer);
  ensure(bytes.size() <= block.size(), "weights are as large as they were described");
  if (Result<void> written = device.write(block.data(), bytes); !written) return written.error();
  return block.data();
}

Result<std::unique_ptr<PreparedLayer>> prepare_cudnn(const LayerProblem& problem, const Estimate& chosen,
                                                     const LayerWeights& weights, Arena& persistent, Device& device) {
  const auto& conv = std::get<ConvProblem>(problem);
  const Result<CudaDevice*> cuda = as_cuda(device);
  if (!cuda) return cuda.error();
  const Result<cudnnHandle_t> handle = (*cuda)->dnn();
  if (!handle) return handle.error();
  const auto form = static_cast<CudnnForm>(setting(chosen.variant, "form", 0));
  const std::vector<float> kernels = arranged_kernels(declared_convolution(conv, chosen.in, form), weights.kernels);
  std::vector<float> bias(static_cast<std::size_t>(conv.f_out), 0.0F);
  std::copy(weights.bias.begin(), weights.bias.end(), bias.begin());
  const ElementType bias_type = form == CudnnForm::fused ? chosen.in.type : ElementType::f32;
  const Result<std::byte*> kernels_at = load(**cuda, persistent, kernels_name, elements_of(kernels, chosen.in.type));
  if (!kernels_at) return kernels_at.error();
  const Result<std::byte*> bias_at = load(**cuda, persistent, bias_name, elements_of(bias, bias_type));
  if (!bias_at) return bias_at.error();
  auto layer = std::make_unique<CudnnLayer>(conv, chosen, **cuda, *handle, *kernels_at, *bias_at);
  if (const Result<const Planned*> planned = layer->plan_declared(); !planned) return planned.error();
  return std::unique_ptr<PreparedLayer>(std::move(layer));
}

}  // namespace

extern constinit const Primitive conv_cudnn{cudnn_name,     2, DeviceKind::gpu, &describe_cudnn, &prepare_cudnn,
                                            &min_cudnn_time};

}  // namespace znni::cuda
