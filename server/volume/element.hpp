// Rows of voxels between the element types of a volume and float32. A volume's data need not be aligned.
#pragma once

#include <cstddef>
#include <cstdint>

#include "primitives/core/tensor.hpp"
#include "server/volume/volume_view.hpp"

namespace znni {

// Converts 0..1 to 0..255, rounded to nearest, clamped; NaN becomes 0.
[[nodiscard]] std::uint8_t byte_from_float(float value);

// Computes to[i] = from[i], or what stands for it, * scale + offset for i in [0, count); `from` holds elements of
// `type`. Copies float32 bit by bit where nothing changes it.
void read_row(ElementType type, const std::byte* from, std::int64_t count, const Normalisation& normalisation,
              float* to);

// Sets element i * step of `to` to from[i] for i in [0, count); requires can_write(type).
void write_row(ElementType type, const float* from, std::int64_t count, std::byte* to, std::int64_t step);
[[nodiscard]] bool can_write(ElementType type);  // f32, f16, u8

}  // namespace znni
