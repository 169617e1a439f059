#include "primitives/cpu/fft/row_epilogue.hpp"

#include <algorithm>

#include "primitives/cpu/vectors/activate.hpp"

namespace znni::cpu {
namespace {

void add_row(const Addend& addend, std::span<float> row) {
  if (addend.step == 1) return accumulate({addend.row, row.size()}, row);
  const float* next = addend.row;
  for (float& value : row) {
    value += *next;
    next += addend.step;
  }
}

}  // namespace

void store_row(std::span<float> row, const Epilogue& epilogue, const Addend& addend, float* out, std::int64_t step) {
  for (float& value : row) value = epilogue.scale * value + epilogue.bias;
  if (addend.row != nullptr) add_row(addend, row);
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
