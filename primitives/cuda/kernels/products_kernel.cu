#include "primitives/cuda/kernels/products_kernel.hpp"

#include "primitives/cuda/kernels/launch.hpp"
#include "primitives/cuda/kernels/matrix_units.hpp"
#include "primitives/gpu/products_element.hpp"

namespace znni::cuda {
namespace {

// Multiplies what is in shared memory, and adds it to the sums of the thread's warp.
template <int row_tiles, int column_tiles>
__device__ void multiply_part(int depth, int steps, const ComplexPair* shared,
                              ProductSums<row_tiles, column_tiles>& sums) {
  constexpr ProductShape shape{row_tiles, column_tiles};
  const int thread = static_cast<int>(threadIdx.x);
  const int lane = thread % warp_lanes;
  const int pitch = product_pitch(depth);
  const int row = warp_row(thread, row_tiles);
  const int column = rows_of(shape) + warp_column(thread, column_tiles);
  for (int step = 0; step < steps; ++step) {
    LeftFragment left[row_tiles];
    for (int m = 0; m < row_tiles; ++m) left[m] = read_left(shared, pitch, row + m * mma_rows, step, lane);
    for (int n = 0; n < column_tiles; ++n) {
      const RightFragment right = read_right(shared, pitch, column + n * mma_columns, step, lane);
      for (int m = 0; m < row_tiles; ++m) add_product(sums.v[m][n], multiply(left[m], right));
    }
  }
}

template <int row_tiles, int column_tiles>
__global__ void __launch_bounds__(product_threads, 2)
    products(const ProductArg arg, const Complex* __restrict__ inputs, const Complex* __restrict__ kernels,
             Complex* __restrict__ outputs) {
  constexpr ProductShape shape{row_tiles, column_tiles};
  const int thread = static_cast<int>(threadIdx.x);
  const ProductBlock block = product_block(arg, shape, blockIdx.x);
  auto* const shared = static_cast<ComplexPair*>(dynamic_shared());
  ProductSums<row_tiles, column_tiles> sums = {};
  for (Index first = 0; first < arg.f; first += arg.depth) {
    if (first > 0) __syncthreads();  // the next part takes the place of one that is multiplied
    move_rows<row_tiles, column_tiles>(arg, block, thread, first, {inputs, kernels}, shared);
    __syncthreads();
    const Index left = arg.f - first;
    const Index numbers = left < arg.depth ? left : arg.depth;
    const int steps = static_cast<int>(ceil_div(numbers, mma_depth));
    if (has_products<row_tiles, column_tiles>(block, thread)) multiply_part(arg.depth, steps, shared, sums);
  }
  if (has_products<row_tiles, column_tiles>(block, thread)) write_products(arg, block, thread, sums, outputs);
}

template <int row_tiles, int column_tiles>
cudaError_t launch(const SpectraProduct& product, cudaStream_t stream) {
  constexpr ProductShape shape{row_tiles, column_tiles};
  const ProductArg arg = product_arg(product.f, product.f_out, product.tiles);
  const Index blocks = product.frequencies * product_blocks(arg, shape);
  if (blocks < 1 || blocks > (Index{1} << 31) - 1) return cudaErrorInvalidValue;
  return launch_kernel_sharing(
      product_bytes(arg, shape), products<row_tiles, column_tiles>, static_cast<unsigned>(blocks), product_threads,
      stream, arg, reinterpret_cast<const Complex*>(product.inputs), reinterpret_cast<const Complex*>(product.kernels),
      reinterpret_cast<Complex*>(product.outputs));
}

template <int row_tiles>
cudaError_t launch(int column_tiles, const SpectraProduct& product, cudaStream_t stream) {
  switch (column_tiles) {
    case 1: return launch<row_tiles, 1>(product, stream);
    case 2: return launch<row_tiles, 2>(product, stream);
    case 3: return launch<row_tiles, 3>(product, stream);
    case 4: return launch<row_tiles, 4>(product, stream);
    case 5: return launch<row_tiles, 5>(product, stream);
    default: return cudaErrorInvalidValue;
  }
}

}  // namespace

cudaError_t launch_products(const SpectraProduct& product, cudaStream_t stream) {
  const ProductShape shape = product_shape(product.tiles, product.f_out);
  if (shape.row_tiles == 1) return launch<1>(shape.column_tiles, product, stream);
  return launch<2>(shape.column_tiles, product, stream);
}

}  // namespace znni::cuda
