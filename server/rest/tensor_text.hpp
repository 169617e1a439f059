// Reads and writes voxels as the numbers of JSON arrays.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "primitives/core/result.hpp"
#include "primitives/core/tensor.hpp"

namespace znni::rest {

// Returns true if voxels of this type may be numbers in JSON: the protocol has float16 as bytes alone.
[[nodiscard]] bool has_text(ElementType type);

// Reads the `count` numbers of a JSON array, flat or nested, in their order, into dense elements of `type`, for which
// has_text() is true. Nothing else is allocated. Fails with invalid_argument, with the position in the array, for a
// number that the type does not have; float32 takes the nearest of its finite values.
[[nodiscard]] Result<std::string> read_numbers(std::string_view json, ElementType type, std::int64_t count);

// Hands the text of dense, finite elements, with commas between them, to `take` in pieces, until that returns false.
// Returns true if all were taken. Each number reads back as the same element, also by way of a float64; a zero keeps
// its sign.
[[nodiscard]] bool write_numbers(std::string_view elements, ElementType type,
                                 const std::function<bool(std::string_view piece)>& take);
// Returns the bytes of that text.
[[nodiscard]] std::int64_t number_bytes(std::string_view elements, ElementType type);

// Returns true if all elements are finite.
[[nodiscard]] bool are_finite(std::string_view elements, ElementType type);

}  // namespace znni::rest
