// Reads numbers from ONNX tensors. Every size is checked against the bytes present before any memory is allocated.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <onnx/onnx_pb.h>

#include "primitives/core/result.hpp"

namespace znni {

// Returns the tensor's extents, each at least 0; none for a scalar. The error names the tensor.
[[nodiscard]] Result<std::vector<std::int64_t>> dims_of(const onnx::TensorProto& tensor);

// Returns the number of elements that the extents imply.
[[nodiscard]] Result<std::int64_t> count_of(const onnx::TensorProto& tensor);

// Returns the elements, row-major, of a tensor of type FLOAT, FLOAT16, BFLOAT16 or DOUBLE, as float32. The error names
// the tensor and what is wrong with type, storage or size.
[[nodiscard]] Result<std::vector<float>> floats_of(const onnx::TensorProto& tensor);

// Converts all elements in `raw` to floats and writes them to `floats`. `type` must be one that floats_of() reads.
void convert_raw(int type, std::string_view raw, float* floats);

// Returns the elements of a tensor of type INT64.
[[nodiscard]] Result<std::vector<std::int64_t>> integers_of(const onnx::TensorProto& tensor);

// Returns the bytes that the elements take as raw data; -1 for types that floats_of() does not read.
[[nodiscard]] Result<std::int64_t> stored_bytes(const onnx::TensorProto& tensor);

// Returns the float whose upper half a bfloat16 is, exactly.
[[nodiscard]] float bfloat_to_float(std::uint16_t bfloat);

// Converts IEEE half precision to single, exactly.
[[nodiscard]] float half_to_float(std::uint16_t half);

}  // namespace znni
