// An ONNX file without the numbers of its large tensors. It is small enough to be parsed before the size of the weights
// is known, and the weights are then in memory only once.
#pragma once

#include <cstdint>
#include <string>

#include "primitives/core/result.hpp"

namespace znni {

// Initializers with fewer raw bytes keep them.
inline constexpr std::int64_t min_left_out_bytes = std::int64_t{1} << 16;

// Returns the file's ModelProto, serialised. Raw bytes of each large initializer of a type that floats_of() reads are
// replaced by a reference to external data: the file itself, by its name without folders. Fails with corrupt_file if
// the file is not a protobuf message, with over_budget if the rest takes more than `max_bytes`. Errors of the file
// begin with its path.
[[nodiscard]] Result<std::string> read_onnx_outline(const std::string& path, std::int64_t max_bytes);

}  // namespace znni
