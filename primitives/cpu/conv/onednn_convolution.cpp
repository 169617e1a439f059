#include "primitives/cpu/conv/onednn_convolution.hpp"

#include <omp.h>

#include <unordered_map>
#include <utility>

namespace znni::cpu {
namespace {

using dnnl::memory;

memory::format_tag tag_of(Layout layout) {
  switch (layout) {
    case Layout::planar: return memory::format_tag::ncdhw;
    case Layout::blocked16: return memory::format_tag::nCdhw16c;
    case Layout::blocked8: return memory::format_tag::nCdhw8c;
    case Layout::channels_last: return memory::format_tag::ndhwc;
  }
  return memory::format_tag::undef;
}

memory::data_type type_of(Format format) {
  return format.type == ElementType::bf16 ? memory::data_type::bf16 : memory::data_type::f32;
}

memory::desc describe_tensor(const Shape5& shape, Format format) {
  return {{shape.S, shape.f, shape.n.z, shape.n.y, shape.n.x}, type_of(format), tag_of(format.layout)};
}

// The library plans its loops in 32-bit arithmetic. Above these numbers of elements it wraps and may then divide by
// zero. No layer that fits into a machine comes near them.
struct Limit {
  const char* what;
  std::int64_t most;
};
constexpr Limit plane_limit{"one plane of all channels", std::int64_t{1} << 28};
constexpr Limit kernels_limit{"the kernels", std::int64_t{1} << 31};
constexpr Limit tensor_limit{"one tensor", std::int64_t{1} << 40};

Result<void> check_limit(const Limit& limit, std::int64_t found) {
  if (found <= limit.most) return {};
  return Error{ErrorCode::unsupported, std::string(limit.what) + " with " + std::to_string(found) +
                                           " elements is above the " + std::to_string(limit.most) +
                                           " that oneDNN can count"};
}

// Returns the elements of all channels of one plane, in whole blocks.
std::int64_t plane_elements_of(const Shape5& shape) {
  constexpr std::int64_t widest_block = 16;
  return mul(round_up(shape.f, widest_block), mul(shape.n.y, shape.n.x));
}

Result<void> check_limits(const ConvProblem& problem) {
  for (const Shape5& shape : {problem.in, output_shape(problem)}) {
    if (Result<void> plane = check_limit(plane_limit, plane_elements_of(shape)); !plane) return plane;
    if (Result<void> tensor = check_limit(tensor_limit, elements(shape)); !tensor) return tensor;
  }
  return check_limit(kernels_limit, mul(mul(problem.f_out, problem.in.f), voxels(problem.k)));
}

memory::dims strides_of(const ConvProblem& problem) { return {problem.stride.z, problem.stride.y, problem.stride.x}; }

// Returns the voxels left out between taps, as the library counts dilation; 0 along an axis of one tap.
memory::dims gaps(const ConvProblem& problem) {
  memory::dims result;
  for (int axis = 0; axis < 3; ++axis) result.push_back(problem.k[axis] == 1 ? 0 : problem.dilation[axis] - 1);
  return result;
}

dnnl::algorithm algorithm_of(ActivationKind kind) {
  switch (kind) {
    case ActivationKind::none:
    case ActivationKind::relu:
    case ActivationKind::leaky_relu: return dnnl::algorithm::eltwise_relu;
    case ActivationKind::elu: return dnnl::algorithm::eltwise_elu;
    case ActivationKind::sigmoid: return dnnl::algorithm::eltwise_logistic;
    case ActivationKind::tanh: return dnnl::algorithm::eltwise_tanh;
    case ActivationKind::capped_relu: return dnnl::algorithm::eltwise_clip_v2;
    case ActivationKind::softplus: return dnnl::algorithm::eltwise_soft_relu;
    default: return dnnl::algorithm::undef;
  }
}

// Appends the activation. A cap is the upper bound of a clip whose lower one is 0.
void append(dnnl::post_ops& fused, Activation activation) {
  const auto [kind, alpha] = activation;
  if (kind == ActivationKind::none || !OnednnConvolution::fuses(kind)) return;
  const bool caps = kind == ActivationKind::capped_relu;
  fused.append_eltwise(1.0F, algorithm_of(kind), takes_alpha(kind) && !caps ? alpha : 0.0F, caps ? alpha : 0.0F);
}

// Returns the fused operations: first the residual is added, then comes the activation.
dnnl::primitive_attr attributes(const ConvProblem& problem, Format in, const memory::desc& out) {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  dnnl::post_ops fused;
  if (problem.residual && in.type == ElementType::bf16) fused.append_sum(1.0F);  // the output holds it
  if (problem.residual && in.type != ElementType::bf16) fused.append_binary(dnnl::algorithm::binary_add, out);
  append(fused, problem.activation);
  attr.set_post_ops(fused);
  return attr;
}

// Returns the input's shape as the library sees it: whole blocks.
Shape5 physical_input(const ConvProblem& problem, Format in) {
  return {problem.in.S, round_up(problem.in.f, block_width(in.layout)), problem.in.n};
}

// Returns true for the library's code for AVX512_BF16. Its code for matrix units (AMX) gives wrong results for some
// strides. Without it all processors run the same code, and each tests it for the others.
bool is_bf16_code(std::string_view name) { return name.starts_with("jit_bf16") && name.ends_with(":avx512_core_bf16"); }

// Calls the library and turns its exceptions into errors.
template <class Function>
Result<void> guarded(const char* what, const Function& function) {
  try {
    function();
    return {};
  } catch (const dnnl::error& error) {
    const bool refused = error.status == dnnl_unimplemented || error.status == dnnl_invalid_arguments;
    return Error{refused ? ErrorCode::unsupported : ErrorCode::device_failure,
                 std::string("oneDNN ") + what + ": " + error.what()};
  }
}

void* untyped(const void* data) { return const_cast<void*>(data); }

}  // namespace

OpenMpThreads::OpenMpThreads(int threads) : before_(omp_get_max_threads()) { omp_set_num_threads(threads); }
OpenMpThreads::~OpenMpThreads() { omp_set_num_threads(before_); }

bool OnednnConvolution::fuses(ActivationKind kind) { return algorithm_of(kind) != dnnl::algorithm::undef; }

OnednnConvolution::OnednnConvolution(const ConvProblem& problem, Format in, Format out, int threads)
    : problem_(problem), in_(in), out_(out), threads_(threads) {}

Result<void> OnednnConvolution::create(const dnnl_memory_desc_t* weights) {
  const OpenMpThreads counted(threads_);  // the workspace depends on the number of threads
  return guarded("describes no convolution", [&] {
    if (!engine_) engine_ = dnnl::engine(dnnl::engine::kind::cpu, 0);
    const Shape5 in = physical_input(problem_, in_);
    const memory::desc any({problem_.f_out, in.f, problem_.k.z, problem_.k.y, problem_.k.x}, type_of(in_),
                           memory::format_tag::any);
    const memory::desc bias({problem_.f_out}, memory::data_type::f32, memory::format_tag::a);
    const memory::desc out = describe_tensor(output_shape(problem_), out_);
    const dnnl::convolution_forward::desc convolution(dnnl::prop_kind::forward_inference,
                                                      dnnl::algorithm::convolution_direct, describe_tensor(in, in_),
                                                      weights == nullptr ? any : memory::desc(*weights), bias, out,
                                                      strides_of(problem_), gaps(problem_), {0, 0, 0}, {0, 0, 0});
    description_ = {convolution, attributes(problem_, in_, out), engine_};
    if (in_.type == ElementType::bf16) find_bf16_code();
  });
}

void OnednnConvolution::find_bf16_code() {
  while (!is_bf16_code(implementation()) && description_.next_impl()) {
  }
}

Result<void> OnednnConvolution::refuse_reference_code() const {
  const std::string found = implementation();
  if (in_.type == ElementType::bf16) {
    if (is_bf16_code(found)) return {};
    return Error{ErrorCode::unsupported, "oneDNN has only '" + found + "' for " + to_string(LayerProblem(problem_)) +
                                             " in bf16; what is used is called 'jit_bf16...:avx512_core_bf16'"};
  }
  if (found.starts_with("jit") || found.starts_with("brg")) return {};
  return Error{ErrorCode::unsupported, "oneDNN has only '" + found + "' for " + to_string(LayerProblem(problem_)) +
                                           " from " + to_string(in_) + " to " + to_string(out_) +
                                           "; generated code is called 'jit...' or 'brg...'"};
}

Result<OnednnConvolution> OnednnConvolution::describe(const ConvProblem& problem, Format in, Format out, int threads) {
  if (Result<void> countable = check_limits(problem); !countable) return countable.error();
  OnednnConvolution convolution(problem, in, out, threads);
  if (Result<void> created = convolution.create(nullptr); !created) return created.error();
  if (Result<void> fast = convolution.refuse_reference_code(); !fast) return fast.error();
  return convolution;
}

Result<OnednnConvolution> OnednnConvolution::describe_like(const OnednnConvolution& other, const ConvProblem& problem) {
  OnednnConvolution convolution(problem, other.in_, other.out_, other.threads_);
  convolution.engine_ = other.engine_;
  const dnnl_memory_desc_t weights = other.description_.weights_desc().data;
  if (Result<void> created = convolution.create(&weights); !created) return created.error();
  if (Result<void> fast = convolution.refuse_reference_code(); !fast) return fast.error();
  return convolution;
}

std::int64_t OnednnConvolution::weights_bytes() const {
  return static_cast<std::int64_t>(description_.weights_desc().get_size());
}

std::int64_t OnednnConvolution::workspace_bytes() const {
  return static_cast<std::int64_t>(description_.scratchpad_desc().get_size());
}

std::string OnednnConvolution::implementation() const { return description_.impl_info_str(); }

Result<void> OnednnConvolution::build() {
  const OpenMpThreads counted(threads_);
  return guarded("generates no code", [&] { primitive_.emplace(description_); });
}

Result<void> OnednnConvolution::reorder_weights(const float* kernels, std::byte* to) const {
  const OpenMpThreads counted(threads_);
  return guarded("does not reorder weights", [&] {
    const Vec3 k = problem_.k;
    const memory::desc plain({problem_.f_out, problem_.in.f, k.z, k.y, k.x}, memory::data_type::f32,
                             memory::format_tag::oidhw);
    // The same blocks, of which only f channels carry weights: the library fills the rest with zeros.
    memory::desc blocked = description_.weights_desc();
    blocked.data.dims[1] = problem_.in.f;
    memory from(plain, engine_, untyped(kernels));
    memory into(blocked, engine_, to);
    dnnl::stream stream(engine_);
    dnnl::reorder(from, into).execute(stream, from, into);
    stream.wait();
  });
}

Result<void> OnednnConvolution::run(const Operands& operands) const {
  ensure(primitive_.has_value(), "a convolution is built before it runs");
  const OpenMpThreads counted(threads_);
  return guarded("does not run", [&] {
    dnnl::stream stream(engine_);
    std::unordered_map<int, memory> arguments = {
        {DNNL_ARG_SRC, {description_.src_desc(), engine_, untyped(operands.in)}},
        {DNNL_ARG_WEIGHTS, {description_.weights_desc(), engine_, untyped(operands.weights)}},
        {DNNL_ARG_BIAS, {description_.bias_desc(), engine_, untyped(operands.bias)}},
        {DNNL_ARG_DST, {description_.dst_desc(), engine_, operands.out}},
        {DNNL_ARG_SCRATCHPAD, {description_.scratchpad_desc(), engine_, operands.workspace}}};
    if (problem_.residual && in_.type != ElementType::bf16) {
      const memory residual(description_.dst_desc(), engine_, untyped(operands.residual));
      arguments.emplace(DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1, residual);
    }
    primitive_->execute(stream, arguments);
    stream.wait();
  });
}

}  // namespace znni::cpu
