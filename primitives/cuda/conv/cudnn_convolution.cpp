#include "primitives/cuda/conv/cudnn_convolution.hpp"

#include <array>

namespace znni::cuda {
namespace {

using Five = std::array<std::int64_t, 5>;
using Three = std::array<std::int64_t, 3>;

Three three(Vec3 n) { return {n.z, n.y, n.x}; }
Five five(const Shape5& shape) { return {shape.S, shape.f, shape.n.z, shape.n.y, shape.n.x}; }
Five five(const Strides& strides) { return {strides.S, strides.f, strides.z, strides.y, strides.x}; }

cudnnDataType_t data_type(ElementType type) {
  switch (type) {
    case ElementType::f16: return CUDNN_DATA_HALF;
    case ElementType::bf16: return CUDNN_DATA_BFLOAT16;
    default: return CUDNN_DATA_FLOAT;
  }
}

// Returns the strides of a tensor of `shape` that ends a larger one, behind so many of its planes.
Strides strides_behind(Shape5 shape, std::int64_t planes, Format format) {
  shape.n.z += planes;
  return dense_strides(shape, format);
}

// Returns the shape of the kernels: f_out inputs of a group's f channels, of extent k; in the swapped form f inputs of
// f_out channels.
Shape5 kernel_shape(const CudnnConvolution& convolution) {
  const ConvProblem& conv = convolution.conv;
  if (convolution.form == CudnnForm::swapped) return {conv.in.f, conv.f_out, conv.k};
  return {conv.f_out, conv.in.f / conv.groups, conv.k};
}

class GraphMaker {
 public:
  GraphMaker(const CudnnConvolution& convolution, cudnnHandle_t handle) : convolution_(convolution), handle_(handle) {}

  Result<CudnnGraph> make() {
    const ConvProblem& conv = convolution_.conv;
    const cudnnDataType_t type = data_type(convolution_.in.type);
    const Shape5 kernels = kernel_shape(convolution_);
    const std::size_t x = tensor(CudnnTensor::in, type, conv.in, convolution_.in_strides, convolution_.in_alignment);
    const std::size_t w = tensor(CudnnTensor::kernels, type, kernels, dense_strides(kernels, convolution_.in));
    const std::size_t y =
        tensor(CudnnTensor::out, type, output_shape(conv), convolution_.out_strides, convolution_.out_alignment);
    const std::size_t how = description();
    if (convolution_.form == CudnnForm::fused) {
      add_fused(x, w, y, how);
    } else if (convolution_.form == CudnnForm::swapped) {
      add_swapped(x, w, y, how);
    } else {
      add_forward(x, w, y, how);
    }
    return finish();
  }

 private:
  // Finalises the descriptor and keeps it; its number.
  std::size_t keep(CudnnDescriptor descriptor) {
    Result<void> made = descriptor.finalise();
    if (failure_ && !made) failure_ = made;
    parts_.push_back(std::move(descriptor));
    return parts_.size() - 1;
  }

  std::size_t tensor(CudnnTensor name, cudnnDataType_t type, const Shape5& shape, const Strides& strides,
                     std::int64_t alignment = max_alignment) {
    return tensor(static_cast<std::int64_t>(name), type, shape, strides, alignment, false);
  }
  std::size_t tensor(std::int64_t name, cudnnDataType_t type, const Shape5& shape, const Strides& strides,
                     std::int64_t alignment, bool is_virtual) {
    CudnnDescriptor descriptor(CUDNN_BACKEND_TENSOR_DESCRIPTOR, "tensor");
    descriptor.set(CUDNN_ATTR_TENSOR_DATA_TYPE, type);
    descriptor.set(CUDNN_ATTR_TENSOR_DIMENSIONS, five(shape));
    descriptor.set(CUDNN_ATTR_TENSOR_STRIDES, five(strides));
    descriptor.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, name);
    descriptor.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, alignment);
    descriptor.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, is_virtual);
    return keep(std::move(descriptor));
  }
  // Adds a float tensor of the output's shape that never reaches memory.
  std::size_t passing(std::int64_t name) {
    const Shape5 shape = output_shape(convolution_.conv);
    return tensor(name, CUDNN_DATA_FLOAT, shape, dense_strides(shape, convolution_.out), max_alignment, true);
  }

  std::size_t description() {
    const ConvProblem& conv = convolution_.conv;
    const bool swapped = convolution_.form == CudnnForm::swapped;
    const Three padding = three(swapped ? conv.dilation * (conv.k - Vec3::cube(1)) : Vec3{});
    const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
    CudnnDescriptor descriptor(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, "convolution");
    descriptor.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, std::int64_t{3});
    descriptor.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_DATA_FLOAT);
    descriptor.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode);
    descriptor.set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, padding);
    descriptor.set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, padding);
    descriptor.set(CUDNN_ATTR_CONVOLUTION_DILATIONS, three(conv.dilation));
    descriptor.set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, three(conv.stride));
    return keep(std::move(descriptor));
  }

  void add_forward(std::size_t x, std::size_t w, std::size_t y, std::size_t how) {
    CudnnDescriptor operation(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, "forward convolution");
    operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, parts_[x]);
    operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, parts_[w]);
    operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, parts_[y]);
    operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, parts_[how]);
    operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, 1.0F);
    operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, 0.0F);
    operations_.push_back(keep(std::move(operation)));
  }

  void add_swapped(std::size_t x, std::size_t w, std::size_t y, std::size_t how) {
    CudnnDescriptor operation(CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR, "swapped convolution");
    operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, parts_[x]);
    operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, parts_[w]);
    operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, parts_[y]);
    operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, parts_[how]);
    operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA, 1.0F);
    operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA, 0.0F);
    operations_.push_back(keep(std::move(operation)));
  }

  void add_fused(std::size_t x, std::size_t w, std::size_t y, std::size_t how) {
    const bool relu = convolution_.conv.activation.kind == ActivationKind::relu;
    const Shape5 one_voxel{1, convolution_.conv.f_out, Vec3::cube(1)};
    const std::size_t bias = tensor(CudnnTensor::bias, data_type(convolution_.in.type), one_voxel,
                                    dense_strides(one_voxel, convolution_.out));
    const std::size_t sums = passing(5);
    const std::size_t biased = relu ? passing(6) : y;
    add_forward(x, w, sums, how);
    add_pointwise(CUDNN_POINTWISE_ADD, sums, &bias, biased);
    if (relu) add_pointwise(CUDNN_POINTWISE_RELU_FWD, biased, nullptr, y);
  }

  void add_pointwise(cudnnPointwiseMode_t mode, std::size_t in, const std::size_t* other, std::size_t out) {
    CudnnDescriptor what(CUDNN_BACKEND_POINTWISE_DESCRIPTOR, "pointwise");
    what.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode);
    what.set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_DATA_FLOAT);
    const std::size_t how = keep(std::move(what));
    CudnnDescriptor operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, "pointwise operation");
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, parts_[how]);
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, parts_[in]);
    if (other != nullptr) operation.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, parts_[*other]);
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, parts_[out]);
    operations_.push_back(keep(std::move(operation)));
  }

  Result<CudnnGraph> finish() {
    if (!failure_) return failure_.error();
    CudnnDescriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, "operation graph");
    std::vector<cudnnBackendDescriptor_t> operations;
    for (const std::size_t operation : operations_) operations.push_back(parts_[operation].get());
    graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, operations);
    if (handle_ != nullptr) graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle_);
    if (Result<void> made = graph.finalise(); !made) return made.error();
    return CudnnGraph{std::move(parts_), std::move(graph)};
  }

  const CudnnConvolution& convolution_;
  cudnnHandle_t handle_;
  std::vector<CudnnDescriptor> parts_;
  std::vector<std::size_t> operations_;  // among parts_
  Result<void> failure_;
};

}  // namespace

std::int64_t alignment_at(std::int64_t offset) {
  std::int64_t alignment = max_alignment;
  while (offset % alignment != 0) alignment /= 2;
  return alignment;
}

CudnnConvolution declared_convolution(const ConvProblem& conv, Format format, CudnnForm form) {
  const Strides in = strides_behind(conv.in, conv.before.in, format);
  const Strides out = strides_behind(output_shape(conv), conv.before.out, format);
  const std::int64_t bytes = element_bytes(format.type);
  return {conv,
          format,
          format,
          in,
          out,
          form,
          alignment_at(conv.before.in * in.z * bytes),
          alignment_at(conv.before.out * out.z * bytes)};
}

bool ends_convolution(const ConvProblem& conv, CudnnForm form) { return form == CudnnForm::fused && can_fuse(conv); }

bool can_fuse(const ConvProblem& conv) {
  const ActivationKind kind = conv.activation.kind;
  return !conv.residual && (kind == ActivationKind::none || kind == ActivationKind::relu);
}

Result<CudnnGraph> make_graph(const CudnnConvolution& convolution, cudnnHandle_t handle) {
  return GraphMaker(convolution, handle).make();
}

std::vector<float> arranged_kernels(const CudnnConvolution& convolution, std::span<const float> kernels) {
  const ConvProblem& conv = convolution.conv;
  const Shape5 shape = kernel_shape(convolution);
  const Strides strides = dense_strides(shape, convolution.in);
  const bool swapped = convolution.form == CudnnForm::swapped;
  std::vector<float> arranged(kernels.size());
  std::size_t next = 0;
  for (std::int64_t j = 0; j < conv.f_out; ++j) {
    for (std::int64_t i = 0; i < conv.in.f / conv.groups; ++i) {
      const std::int64_t pair = swapped ? i * strides.S + j * strides.f : j * strides.S + i * strides.f;
      for (Vec3 tap; tap.z < conv.k.z; ++tap.z) {
        for (tap.y = 0; tap.y < conv.k.y; ++tap.y) {
          for (tap.x = 0; tap.x < conv.k.x; ++tap.x) {
            const Vec3 to = swapped ? conv.k - Vec3::cube(1) - tap : tap;
            const std::int64_t at = pair + to.z * strides.z + to.y * strides.y + to.x * strides.x;
            arranged[static_cast<std::size_t>(at)] = kernels[next++];
          }
        }
      }
    }
  }
  return arranged;
}

}  // namespace znni::cuda
