#include "primitives/gpu/elementwise/multiply_view.hpp"

#include <algorithm>
#include <array>

#include "primitives/gpu/views.hpp"

namespace znni::cuda {

MultiplyArg multiply_arg(const TensorView& in, const TensorView& other, const TensorView& out, bool divides) {
  MultiplyArg arg;
  arg.divides = divides;
  arg.planar = out.format.layout == Layout::planar;
  arg.one_channel = !arg.planar && other.shape.f == 1;
  const std::array<TensorView, 2> ends = {in, out};
  arg.width = vector_width(ends);
  if (!arg.one_channel) arg.width = std::min(arg.width, vector_width({&other, 1}));
  arg.rows = rows_of(out, arg.width);
  arg.in_steps = row_steps_of(in, arg.width);
  arg.other_steps = row_steps_of(other, arg.one_channel ? 1 : arg.width);
  arg.out_steps = row_steps_of(out, arg.width);
  if (other.shape.f == 1) arg.other_steps.channel = 0;
  if (arg.one_channel) arg.other_steps.fast = 0;
  arg.in = in.data;
  arg.other = other.data;
  arg.out = out.data;
  return arg;
}

}  // namespace znni::cuda
