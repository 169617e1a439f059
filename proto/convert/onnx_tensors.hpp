// Numbers out of ONNX tensors: every size is checked against the bytes that are there before anything is
// allocated.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <onnx/onnx_pb.h>

#include "primitives/core/result.hpp"

namespace znni {

// The tensor's extents, each at least 0; the error names the tensor. A scalar has none.
[[nodiscard]] Result<std::vector<std::int64_t>> dims_of(const onnx::TensorProto& tensor);

// How many elements the extents ask for.
[[nodiscard]] Result<std::int64_t> count_of(const onnx::TensorProto& tensor);

// The elements, row-major, of a tensor of type FLOAT, FLOAT16 or DOUBLE, as float32. The error names the
// tensor, and what is wrong with type, storage or size.
[[nodiscard]] Result<std::vector<float>> floats_of(const onnx::TensorProto& tensor);

// Turns as many elements of a type that floats_of() reads as `raw` holds into floats, to `floats`.
void convert_raw(int type, std::string_view raw, float* floats);

// The elements of a tensor of type INT64.
[[nodiscard]] Result<std::vector<std::int64_t>> integers_of(const onnx::TensorProto& tensor);

// Bytes of the elements, were they stored raw; -1 for types that floats_of() does not read.
[[nodiscard]] Result<std::int64_t> stored_bytes(const onnx::TensorProto& tensor);

// IEEE half precision to single, exactly.
[[nodiscard]] float half_to_float(std::uint16_t half);

}  // namespace znni
