// An ONNX file without the numbers of its large tensors: small enough to be parsed before it is known how much memory
// the weights take, and they are in memory once when they are read.
#pragma once

#include <cstdint>
#include <string>

#include "primitives/core/result.hpp"

namespace znni {

// Initializers that hold fewer raw bytes keep them.
inline constexpr std::int64_t least_left_out_bytes = std::int64_t{1} << 16;

// Returns the file's ModelProto, serialised, in which each large initializer of a type that floats_of() reads says that
// its raw bytes are external data: in the file itself, by its name without folders. corrupt_file where the file is no
// protobuf message; over_budget where what is left takes more than `most_bytes`; errors of the file begin with its
// path.
[[nodiscard]] Result<std::string> read_onnx_outline(const std::string& path, std::int64_t most_bytes);

}  // namespace znni
