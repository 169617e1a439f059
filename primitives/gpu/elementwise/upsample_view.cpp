#include "primitives/gpu/elementwise/upsample_view.hpp"

#include "primitives/gpu/views.hpp"

namespace znni::cuda {

UpsampleArg upsample_arg(const UpsampleProblem& upsample, const TensorView& in, const TensorView& out, int width) {
  UpsampleArg arg;
  arg.rows = rows_of(out, width);
  arg.planar = out.format.layout == Layout::planar;
  arg.kind = static_cast<Upsampling>(upsample.kind);
  arg.n = extent_of(in.shape.n);
  arg.factor = extent_of(upsample.factor);
  arg.channels = arg.planar ? out.shape.f : out.shape.f / width;
  arg.in = steps_of(in, width);
  arg.out = row_steps_of(out, width);
  return arg;
}

}  // namespace znni::cuda
