#include "proto/convert/onnx/operators/onnx_linear.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "proto/convert/base/errors.hpp"
#include "proto/convert/onnx/graph/onnx_tensors.hpp"
#include "proto/convert/onnx/operators/onnx_flatten.hpp"

namespace znni {
namespace {

constexpr int matrix_input = 1;
constexpr int bias_input = 2;
constexpr int axes_of_matrix = 2;

// The numbers of a linear layer: alpha times a matrix, and beta times a bias.
struct Linear {
  float alpha = 1;
  float beta = 1;
  bool is_turned = false;  // the matrix is [f_out][f], as kernels are
};

Result<Linear> linear_of(const OnnxAttributes& attributes) {
  const Result<float> alpha = attributes.real("alpha", 1);
  if (!alpha) return alpha.error();
  const Result<float> beta = attributes.real("beta", 1);
  if (!beta) return beta.error();
  const Result<std::int64_t> turns_input = attributes.integer("transA", 0);
  if (!turns_input) return turns_input.error();
  if (*turns_input != 0) return unsupported("transA = " + std::to_string(*turns_input) + " is not supported; only 0");
  const Result<std::int64_t> turns = attributes.integer("transB", 0);
  if (!turns) return turns.error();
  return Linear{*alpha, *beta, *turns != 0};
}

// What a linear layer reads, all numbers in one row.
struct Row {
  std::int64_t length = 0;  // unknown_channels: not known
  Vec3 window = Vec3::cube(1);
  bool is_flat = false;
};

Row row_of(const onnx::NodeProto& node, const OnnxBuilder& builder, int value) {
  const FlatTensor* flat = builder.flat(node.input(0));
  if (flat == nullptr || builder.channels(value) == unknown_channels) return {builder.channels(value)};
  return {row_length(builder, node.input(0)), flat->window, true};
}

// Returns the numbers of a row that the matrix is for. Fails if it is none for the row.
Result<std::int64_t> length_read(const onnx::TensorProto& matrix, const Row& row, const Linear& linear) {
  const Result<std::vector<std::int64_t>> dims = dims_of(matrix);
  if (!dims) return dims.error();
  const bool is_matrix = dims->size() == axes_of_matrix && (*dims)[0] > 0 && (*dims)[1] > 0;
  const std::int64_t read = !is_matrix ? 0 : linear.is_turned ? (*dims)[1] : (*dims)[0];
  if (is_matrix && (row.length == unknown_channels || read == row.length)) return read;
  return corrupt("weights " + in_quotes(matrix.name()) + " are no matrix for the " + std::to_string(row.length) +
                 (row.is_flat ? " numbers of the flattened input, " + to_string(row.window) + " voxels"
                              : " channels of the input"));
}

// Returns the kernels, [f_out][f][window...], of the constant matrix.
Result<std::vector<float>> kernels_of(const OnnxNode& node, const OnnxBuilder& builder, const Row& row,
                                      const Linear& linear) {
  const onnx::TensorProto* tensor = builder.constant(node.proto, matrix_input);
  if (tensor == nullptr) return unsupported("its matrix is computed; only constants are supported");
  const Result<std::int64_t> length = length_read(*tensor, row, linear);
  if (!length) return length.error();
  Result<std::vector<float>> matrix = builder.floats_of(*tensor);
  if (!matrix) return matrix;
  std::vector<std::size_t> places(static_cast<std::size_t>(*length));
  std::iota(places.begin(), places.end(), std::size_t{0});
  if (row.is_flat) places = places_in_kernel(builder, node.proto.input(0));
  const std::size_t rows = matrix->size() / places.size();
  std::vector<float> kernels(matrix->size());
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const std::size_t out = linear.is_turned ? i / places.size() : i % rows;
    const std::size_t in = linear.is_turned ? i % places.size() : i / rows;
    kernels[out * places.size() + places[in]] = linear.alpha * (*matrix)[i];
  }
  return kernels;
}

// Returns the bias; none if the layer has none.
Result<std::vector<float>> bias_of(const OnnxNode& node, const OnnxBuilder& builder, std::int64_t f_out,
                                   const Linear& linear) {
  if (!OnnxBuilder::has_input(node.proto, bias_input)) return std::vector<float>();
  const onnx::TensorProto* tensor = builder.constant(node.proto, bias_input);
  if (tensor == nullptr) return unsupported("its bias is computed; only constants are supported");
  const Result<std::vector<std::int64_t>> dims = dims_of(*tensor);
  if (!dims) return dims.error();
  Result<std::vector<float>> bias = builder.floats_of(*tensor);
  if (!bias) return bias;
  const auto count = static_cast<std::int64_t>(bias->size());
  const bool is_row = dims->size() <= axes_of_matrix && (dims->empty() || dims->back() == count);
  if (!is_row || (count != 1 && count != f_out)) {
    return corrupt("bias " + in_quotes(tensor->name()) + " is neither one number nor one per channel, " +
                   std::to_string(f_out));
  }
  bias->resize(static_cast<std::size_t>(f_out), bias->front());
  std::transform(bias->begin(), bias->end(), bias->begin(), [&](float one) { return linear.beta * one; });
  return bias;
}

// Takes in what the numbers of a row are multiplied by, and what is added to them.
void take_in(const FlatTensor& flat, const std::vector<std::size_t>& places, std::int64_t f_out, NodeWeights& weights) {
  weights.bias.resize(static_cast<std::size_t>(f_out), 0.0F);
  for (std::size_t out = 0; out < weights.bias.size(); ++out) {
    auto bias = static_cast<double>(weights.bias[out]);
    for (std::size_t in = 0; in < places.size(); ++in) {
      float& kernel = weights.kernels[out * places.size() + places[in]];
      bias += static_cast<double>(kernel) * static_cast<double>(flat.shift[in]);
      kernel *= flat.scale[in];
    }
    weights.bias[out] = static_cast<float>(bias);
  }
}

// Fails if a number that the file's constants make is not finite.
Result<void> check_finite(const std::vector<float>& numbers) {
  const bool are = std::all_of(numbers.begin(), numbers.end(), [](float one) { return std::isfinite(one); });
  return are ? Result<void>() : corrupt("its weights times alpha, or its bias times beta, are not finite");
}

Result<void> convert_linear(const OnnxNode& node, OnnxBuilder& builder, const Linear& linear) {
  const std::string& input = node.proto.input(0);
  if (builder.pooled_axes(input) != axes_of_matrix && builder.flat(input) == nullptr) {
    return unsupported("of voxels is not supported; only of what is pooled of all voxels, as [N, C], or flattened");
  }
  const Result<int> value = builder.value(node.proto, 0);
  if (!value) return value.error();
  NodeWeights weights;
  const Row row = row_of(node.proto, builder, *value);
  Result<std::vector<float>> kernels = kernels_of(node, builder, row, linear);
  if (!kernels) return kernels.error();
  const onnx::TensorProto& matrix = *builder.constant(node.proto, matrix_input);
  const std::int64_t f_out = matrix.dims(linear.is_turned ? 0 : 1);
  Result<std::vector<float>> bias = bias_of(node, builder, f_out, linear);
  if (!bias) return bias.error();
  weights.kernels = *std::move(kernels);
  weights.bias = *std::move(bias);
  const FlatTensor* flat = row.is_flat ? builder.flat(input) : nullptr;
  if (flat != nullptr && !flat->scale.empty()) take_in(*flat, places_in_kernel(builder, input), f_out, weights);
  if (Result<void> sound = check_finite(weights.kernels); !sound) return sound;
  if (Result<void> sound = check_finite(weights.bias); !sound) return sound;
  builder.append(node.proto, Convolution{f_out, row.window, Vec3::cube(1), {}}, {*value}, f_out, std::move(weights));
  builder.note_pooled(node.proto, axes_of_matrix);
  return {};
}

}  // namespace

Result<void> convert_gemm(const OnnxNode& node, OnnxBuilder& builder) {
  const Result<Linear> linear = linear_of(node.attributes);
  return linear ? convert_linear(node, builder, *linear) : linear.error();
}

Result<void> convert_mat_mul(const OnnxNode& node, OnnxBuilder& builder) { return convert_linear(node, builder, {}); }

}  // namespace znni
