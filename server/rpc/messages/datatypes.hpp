// Element types as the protocol names them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "primitives/core/result.hpp"
#include "primitives/core/tensor.hpp"

namespace znni::rpc {

// Returns the type of "FP32", "FP16", "UINT8" or "UINT16"; nothing for any other text.
[[nodiscard]] std::optional<ElementType> element_type(std::string_view datatype);
[[nodiscard]] std::string_view datatype(ElementType type);

inline constexpr std::string_view input_datatypes = "FP32, FP16, UINT8 or UINT16";
inline constexpr std::string_view output_datatypes = "FP32, FP16 or UINT8";

// Returns the type of an output: "" is FP32; UINT8 maps 0..1 to 0..255. The error says what is possible.
[[nodiscard]] Result<ElementType> output_type(std::string_view datatype);

// Fails if an output that holds numbers of channels up to `largest` would not be exact. UINT8 holds values of 0 to 1,
// FP16 whole numbers up to 2048. 0: it holds none.
[[nodiscard]] Result<void> check_holds_numbers(ElementType type, std::int64_t largest);
// Returns the types that hold them, "FP32,FP16".
[[nodiscard]] std::string types_that_hold(std::int64_t largest);

}  // namespace znni::rpc
