#include "proto/convert/onnx/graph/onnx_tensors.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <string>

#include "primitives/core/shape.hpp"
#include "proto/convert/base/errors.hpp"

namespace znni {
namespace {

static_assert(std::endian::native == std::endian::little, "raw_data of ONNX is little-endian");

Error wrong_size(std::int64_t found, const char* unit, std::int64_t elements) {
  return corrupt("has " + std::to_string(found) + " " + unit + "; its extents ask for " + std::to_string(elements));
}

// Returns elements that are stored as raw bytes, each converted.
template <class Stored, class Convert>
auto from_raw(const std::string& raw, std::int64_t count, Convert convert)
    -> Result<std::vector<decltype(convert(Stored()))>> {
  const auto bytes = static_cast<std::int64_t>(raw.size());
  const std::int64_t needed = mul(count, static_cast<std::int64_t>(sizeof(Stored)));
  if (bytes != needed) return wrong_size(bytes, "bytes", needed);
  std::vector<decltype(convert(Stored()))> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) {
    Stored stored{};
    std::memcpy(&stored, raw.data() + i * sizeof(Stored), sizeof(Stored));
    values[i] = convert(stored);
  }
  return values;
}

// Returns elements that are stored as a repeated field, each converted.
template <class Field, class Convert>
auto from_field(const Field& field, std::int64_t count, Convert convert)
    -> Result<std::vector<decltype(convert(field[0]))>> {
  if (field.size() != count) return wrong_size(field.size(), "elements", count);
  std::vector<decltype(convert(field[0]))> values;
  values.reserve(static_cast<std::size_t>(count));
  for (const auto value : field) values.push_back(convert(value));
  return values;
}

template <class Stored, class Field, class Convert>
auto from_either(const onnx::TensorProto& tensor, const Field& field, std::int64_t count, Convert convert) {
  return tensor.has_raw_data() ? from_raw<Stored>(tensor.raw_data(), count, convert)
                               : from_field(field, count, convert);
}

std::string type_name(int type) {
  const bool known = onnx::TensorProto::DataType_IsValid(type);
  return known ? onnx::TensorProto::DataType_Name(static_cast<onnx::TensorProto::DataType>(type))
               : "number " + std::to_string(type);
}

// Fails if the numbers are not in the message. Numbers in other files are read before, if the model came from a file.
Result<void> refuse_elsewhere(const onnx::TensorProto& tensor) {
  if (tensor.data_location() == onnx::TensorProto::EXTERNAL || tensor.external_data_size() > 0) {
    return unsupported("has its data in another file, which was not read");
  }
  if (tensor.has_segment()) return unsupported("is stored in segments, which is not supported");
  return {};
}

Result<std::vector<float>> read(const onnx::TensorProto& tensor, std::int64_t count) {
  if (const Result<void> here = refuse_elsewhere(tensor); !here) return here.error();
  switch (tensor.data_type()) {
    case onnx::TensorProto::FLOAT:
      return from_either<float>(tensor, tensor.float_data(), count, [](float value) { return value; });
    case onnx::TensorProto::DOUBLE:
      return from_either<double>(tensor, tensor.double_data(), count,
                                 [](double value) { return static_cast<float>(value); });
    case onnx::TensorProto::FLOAT16:
      return from_either<std::uint16_t>(tensor, tensor.int32_data(), count,
                                        [](auto bits) { return half_to_float(static_cast<std::uint16_t>(bits)); });
    case onnx::TensorProto::BFLOAT16:
      return from_either<std::uint16_t>(tensor, tensor.int32_data(), count,
                                        [](auto bits) { return bfloat_to_float(static_cast<std::uint16_t>(bits)); });
    default:
      return unsupported("has type " + type_name(tensor.data_type()) +
                         "; FLOAT, FLOAT16, BFLOAT16 and DOUBLE are supported");
  }
}

Result<std::vector<std::int64_t>> read_integers(const onnx::TensorProto& tensor, std::int64_t count) {
  if (const Result<void> here = refuse_elsewhere(tensor); !here) return here.error();
  if (tensor.data_type() != onnx::TensorProto::INT64) {
    return unsupported("has type " + type_name(tensor.data_type()) + "; INT64 is supported here");
  }
  return from_either<std::int64_t>(tensor, tensor.int64_data(), count, [](std::int64_t value) { return value; });
}

}  // namespace

Result<std::vector<std::int64_t>> dims_of(const onnx::TensorProto& tensor) {
  constexpr int max_axes = 8;
  if (tensor.dims_size() > max_axes) {
    return unsupported("tensor " + in_quotes(tensor.name()) + " has " + std::to_string(tensor.dims_size()) + " axes");
  }
  for (const std::int64_t extent : tensor.dims()) {
    if (extent >= 0) continue;
    return corrupt("tensor " + in_quotes(tensor.name()) + " has an extent of " + std::to_string(extent));
  }
  return std::vector<std::int64_t>(tensor.dims().begin(), tensor.dims().end());
}

Result<std::int64_t> count_of(const onnx::TensorProto& tensor) {
  const Result<std::vector<std::int64_t>> dims = dims_of(tensor);
  if (!dims) return dims.error();
  std::int64_t count = 1;
  for (const std::int64_t extent : *dims) count = mul(count, extent);
  return count;
}

Result<std::int64_t> stored_bytes(const onnx::TensorProto& tensor) {
  const Result<std::int64_t> count = count_of(tensor);
  if (!count) return count;
  switch (tensor.data_type()) {
    case onnx::TensorProto::FLOAT: return mul(*count, sizeof(float));
    case onnx::TensorProto::DOUBLE: return mul(*count, sizeof(double));
    case onnx::TensorProto::FLOAT16:
    case onnx::TensorProto::BFLOAT16: return mul(*count, sizeof(std::uint16_t));
    default: return -1;
  }
}

Result<std::vector<std::int64_t>> integers_of(const onnx::TensorProto& tensor) {
  const Result<std::int64_t> count = count_of(tensor);
  if (!count) return count.error();
  Result<std::vector<std::int64_t>> values = read_integers(tensor, *count);
  if (!values) return values.error().within("tensor " + in_quotes(tensor.name()));
  return values;
}

void convert_raw(int type, std::string_view raw, float* floats) {
  const auto each = [&]<class Stored>(Stored stored, auto convert) {
    for (std::size_t at = 0; at < raw.size(); at += sizeof(stored)) {
      std::memcpy(&stored, raw.data() + at, sizeof(stored));
      *floats++ = convert(stored);
    }
  };
  if (type == onnx::TensorProto::FLOAT) return each(float(), [](float value) { return value; });
  if (type == onnx::TensorProto::DOUBLE) return each(double(), [](double value) { return static_cast<float>(value); });
  each(std::uint16_t(), type == onnx::TensorProto::BFLOAT16 ? bfloat_to_float : half_to_float);
}

Result<std::vector<float>> floats_of(const onnx::TensorProto& tensor) {
  const Result<std::int64_t> count = count_of(tensor);
  if (!count) return count.error();
  Result<std::vector<float>> values = read(tensor, *count);
  if (!values) return values.error().within("tensor " + in_quotes(tensor.name()));
  return values;
}

float bfloat_to_float(std::uint16_t bfloat) { return std::bit_cast<float>(std::uint32_t{bfloat} << 16U); }

float half_to_float(std::uint16_t half) {
  constexpr int mantissa_bits = 10;
  constexpr int bias = 15;
  const int exponent = (half >> mantissa_bits) & 0x1f;
  const int mantissa = half & 0x3ff;
  const float sign = (half & 0x8000) != 0 ? -1.0F : 1.0F;
  if (exponent == 0x1f) return mantissa == 0 ? sign * INFINITY : NAN;
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(mantissa), 1 - bias - mantissa_bits);
  return sign * std::ldexp(static_cast<float>(mantissa + 0x400), exponent - bias - mantissa_bits);
}

}  // namespace znni
