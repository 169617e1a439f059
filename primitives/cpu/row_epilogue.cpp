#include "primitives/cpu/row_epilogue.hpp"

#include <algorithm>

#include "primitives/cpu/activate.hpp"

namespace znni::cpu {

void store_row(std::span<float> row, const Epilogue& epilogue, float* out, std::int64_t step) {
  for (float& value : row) value = epilogue.scale * value + epilogue.bias;
  activate(epilogue.activation, row);
  if (step == 1) {
    std::copy(row.begin(), row.end(), out);
    return;
  }
  for (const float value : row) {
    *out = value;
    out += step;
  }
}

}  // namespace znni::cpu
