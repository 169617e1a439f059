// Types that kernels and their callers share: extents, steps, rows of tensors. C++17 of the standard library alone,
// constexpr throughout: the same functions run on the device, and on the host in tests.
#pragma once

#include <cstdint>

namespace znni::cuda {

using Index = std::int64_t;

struct Extent {
  Index z = 1;
  Index y = 1;
  Index x = 1;
};

constexpr Index voxels_of(Extent n) { return n.z * n.y * n.x; }
constexpr Index ceil_div(Index a, Index b) { return (a + b - 1) / b; }

// Distances in elements, as znni::Strides.
struct Steps {
  Index S = 0;
  Index f = 0;
  Index z = 0;
  Index y = 0;
  Index x = 0;
};

// A tensor as rows. Planar: a row is one row of voxels of one channel (slow = 1, fast = n.x). Channels last: all
// channels of one row of voxels (slow = n.x, fast = channels). `fast` counts vectors of equally many elements; steps
// do, too.
struct RowShape {
  Index S = 1;
  Index channels = 1;  // 1 in channels last
  Index z = 1;
  Index y = 1;
  int slow = 1;
  int fast = 1;
};

struct RowSteps {
  Index S = 0;
  Index channel = 0;
  Index z = 0;
  Index y = 0;
  Index slow = 0;
  Index fast = 0;
};

struct Row {
  Index s = 0;
  Index channel = 0;
  Index z = 0;
  Index y = 0;
};

constexpr Index row_count(const RowShape& shape) { return shape.S * shape.channels * shape.z * shape.y; }
constexpr int row_elements(const RowShape& shape) { return shape.slow * shape.fast; }

// Returns row `index`, y fastest.
constexpr Row row_at(const RowShape& shape, Index index) {
  Row row;
  row.y = index % shape.y;
  index /= shape.y;
  row.z = index % shape.z;
  index /= shape.z;
  row.channel = index % shape.channels;
  row.s = index / shape.channels;
  return row;
}

constexpr Index offset_of(const RowSteps& steps, const Row& row) {
  return row.s * steps.S + row.channel * steps.channel + row.z * steps.z + row.y * steps.y;
}
constexpr Index element_offset(const RowSteps& steps, int slow, int fast) {
  return slow * steps.slow + fast * steps.fast;
}

// `width` elements that are moved at once: 16 bytes where the tensor allows it.
template <class T, int width>
struct alignas(sizeof(T) * width) Lanes {
  T lane[width];
};

// Threads of a block: `x` along a row, `y` rows. 256 together.
struct BlockShape {
  int x = 32;
  int y = 8;
};
constexpr BlockShape block_for(int elements) {
  int x = 8;
  while (x < elements && x < 128) x *= 2;
  return {x, 256 / x};
}
// Blocks of a grid-stride loop over `rows`.
constexpr unsigned blocks_for(Index rows, int rows_per_block) {
  constexpr Index most = (Index{1} << 31) - 1;
  const Index blocks = ceil_div(rows, rows_per_block);
  return static_cast<unsigned>(blocks < 1 ? 1 : blocks < most ? blocks : most);
}

}  // namespace znni::cuda
