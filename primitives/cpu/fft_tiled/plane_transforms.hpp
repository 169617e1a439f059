// Transforms of one plane of neighbouring stacks, forward and back. x comes first, because its lines lie in the tensor
// in that order. The spectra are written with non-temporal stores, unless they stay in a worker's cache. Several blocks
// of a column (of one stack or of neighbours) are written one after the other, so that they reach memory in runs.
#pragma once

#include "primitives/cpu/fft_tiled/codelets.hpp"
#include "primitives/cpu/fft_tiled/tile_kernels.hpp"
#include "primitives/cpu/vectors/activate.hpp"
#include "primitives/cpu/vectors/vector_activations.hpp"

namespace znni::cpu::fft_tiled {

// The source of the lines of one plane of one stack; `in` is the stack's phase. Rows and voxels outside the input are
// zero, also before its first: y and x of the stack may be negative.
struct PlaneSource {
  const Tiling* tiling = nullptr;
  const TensorView* in = nullptr;
  Stack stack;
  std::int64_t z = 0;
};

// The epilogue of the lines of one plane of one stack, and their destination. `out` and `residual` are of its phase.
struct PlaneSink {
  const Tiling* tiling = nullptr;
  const TensorView* out = nullptr;
  const TensorView* residual = nullptr;  // in the format of `out`; null if nothing is added
  const float* bias = nullptr;  // bias_floats(), zero in padding lanes; null: whole raw lines go to rows of `out` with
                                // enough room
  Stack stack;
  std::int64_t z = 0;
};

// One block of channels of one of several neighbouring stacks. `offset` follows the order of blocks in a plane of a
// column.
struct PlaneBlock {
  Stack stack;
  std::int64_t block = 0;
  std::int64_t offset = 0;  // floats from the first block of the task
};
inline __attribute__((always_inline)) PlaneBlock plane_block(const Tiling& t, std::int64_t first_stack,
                                                             std::int64_t blocks, std::int64_t index) {
  const std::int64_t stack = index / blocks;
  return {stack_at(t, first_stack + stack), index % blocks, stack * t.stack_step() + index % blocks * t.block_step()};
}

// Rows of a blocked tensor that are prefetched ahead; without this every row waits for memory.
inline constexpr std::int64_t rows_ahead = 2;

// Gathers the voxels of one line of a tile; voxels around the input are zero. Planar channels are gathered lane
// by lane. Short rows lie far apart, so rows of later lines are prefetched.
template <class Isa>
void gather_line(const PlaneSource& source, std::int64_t block, std::int64_t y, float* line) {
  const TensorView& in = *source.in;
  const std::int64_t left = in.shape.n.x - source.stack.x;
  const std::int64_t inside = left < source.tiling->T.x ? left : source.tiling->T.x;
  const std::int64_t first = source.stack.x < 0 ? -source.stack.x : 0;
  const bool planar = in.format.layout == Layout::planar;
  const float* from = in.data + source.stack.s * in.strides.S + block * (planar ? Isa::lanes : 1) * in.strides.f +
                      source.z * in.strides.z + y * in.strides.y + source.stack.x * in.strides.x;
  const std::int64_t begin = planar ? 0 : first;
  const std::int64_t end = planar || inside < begin ? begin : inside;
  for (std::int64_t x = 0; x < begin; ++x) Isa::store(line + x * Isa::lanes, typename Isa::V{});
  for (std::int64_t x = begin; x < end; ++x) {
    const float* const voxel = from + x * in.strides.x;
    Isa::prefetch(voxel + rows_ahead * in.strides.y);
    Isa::store(line + x * Isa::lanes, Isa::load(voxel));
  }
  for (std::int64_t x = end; x < source.tiling->T.x; ++x) Isa::store(line + x * Isa::lanes, typename Isa::V{});
  const std::int64_t channels = planar ? in.shape.f - block * Isa::lanes : 0;
  for (std::int64_t i = 0; i < channels && i < Isa::lanes; ++i, from += in.strides.f) {
    for (std::int64_t x = 0; x < inside; x += 16) Isa::prefetch(from + in.strides.y + x);
    for (std::int64_t x = first; x < inside; ++x) line[x * Isa::lanes + i] = from[x * in.strides.x];
  }
}

// Transforms the lines along x of one block; the result is [kx][y].
template <class Isa>
void forward_lines(const PlaneSource& source, std::int64_t block, float* plane, float* line) {
  const Tiling& t = *source.tiling;
  const TensorView& in = *source.in;
  const Codelet along_x = r2c_codelet<Isa, false>(t.T.x);
  const std::int64_t pair = t.block_step();
  const bool whole = source.stack.x >= 0 && source.stack.x + t.T.x <= in.shape.n.x;
  const bool direct = in.format.layout != Layout::planar && whole;
  const float* from = in.data + source.stack.s * in.strides.S + block * in.strides.f + source.z * in.strides.z +
                      source.stack.y * in.strides.y + source.stack.x * in.strides.x;
  for (std::int64_t y = 0; y < t.T.y; ++y, from += in.strides.y) {
    float* to = plane + y * pair;
    if (source.stack.y + y < 0 || source.stack.y + y >= in.shape.n.y) {
      for (std::int64_t kx = 0; kx <= t.T.x / 2; ++kx) {
        Isa::store(to + kx * t.T.y * pair, typename Isa::V{});
        Isa::store(to + kx * t.T.y * pair + Isa::lanes, typename Isa::V{});
      }
    } else if (direct) {
      for (std::int64_t x = 0; x < t.T.x; ++x) Isa::prefetch(from + rows_ahead * in.strides.y + x * in.strides.x);
      along_x(from, nullptr, in.strides.x, to, to + Isa::lanes, t.T.y * pair);
    } else {
      gather_line<Isa>(source, block, source.stack.y + y, line);
      along_x(line, nullptr, Isa::lanes, to, to + Isa::lanes, t.T.y * pair);
    }
  }
}

template <class Isa>
void clear_plane(const ForwardTask& task) {
  const Tiling& t = *task.tiling;
  const std::int64_t columns = t.columns();
  const std::int64_t column_step = t.column_step();
  for (std::int64_t column = 0; column < columns; ++column) {
    for (std::int64_t stack = 0; stack < task.stacks; ++stack) {
      float* to = task.spectra + column * column_step + stack * t.stack_step();
      for (std::int64_t i = 0; i < t.in_blocks() * t.block_step(); i += Isa::lanes) {
        Isa::store(to + i, typename Isa::V{});
      }
    }
  }
}

// Transforms the lines along x of one block of a plane. The last plane may lie beyond the input of a phase.
template <class Isa>
void forward_block(const ForwardTask& task, const PlaneBlock& place, float* plane, float* line) {
  const Tiling& t = *task.tiling;
  const Stack& stack = place.stack;
  const TensorView in = phase_view(*task.in, t.phases.dilation, stack.phase);
  const Stack inside{stack.s, stack.y - task.border.y, stack.x - task.border.x, {}};
  const std::int64_t z = task.z - task.border.z;
  if (z < in.shape.n.z) return forward_lines<Isa>({&t, &in, inside, z}, place.block, plane, line);
  for (std::int64_t i = 0; i < (t.T.x / 2 + 1) * t.T.y * t.block_step(); i += Isa::lanes) {
    Isa::store(plane + i, typename Isa::V{});
  }
}

template <class Isa>
void forward_plane(const ForwardTask& task) {
  const Tiling& t = *task.tiling;
  const std::int64_t z = task.z - task.border.z;
  if (z < 0 || z * t.phases.dilation.z >= task.in->shape.n.z) return clear_plane<Isa>(task);
  const std::int64_t pair = t.block_step();
  const std::int64_t half = t.T.x / 2;
  const std::int64_t column_step = t.column_step();
  const std::int64_t count = task.stacks * t.in_blocks();
  const Codelet real = task.past_caches ? r2c_codelet<Isa, true>(t.T.y) : r2c_codelet<Isa, false>(t.T.y);
  const Codelet complex = task.past_caches ? c2c_codelet<Isa, true>(t.T.y) : c2c_codelet<Isa, false>(t.T.y);
  float* line = task.scratch + forward_scratch(t) - t.T.x * Isa::lanes;
  for (std::int64_t first = 0; first < count; first += blocks_at_once) {
    const std::int64_t blocks = count - first < blocks_at_once ? count - first : blocks_at_once;
    PlaneBlock places[blocks_at_once];
    for (std::int64_t b = 0; b < blocks; ++b) {
      places[b] = plane_block(t, task.first_stack, t.in_blocks(), first + b);
      forward_block<Isa>(task, places[b], task.scratch + b * plane_floats(t), line);
    }
    for (std::int64_t kx = 0; kx <= half; ++kx) {
      float* column = task.spectra + t.first_column(kx) * column_step;
      const Codelet along_y = kx == 0 || kx == half ? real : complex;
      for (std::int64_t b = 0; b < blocks; ++b) {
        const float* from = task.scratch + b * plane_floats(t) + kx * t.T.y * pair;
        float* to = column + places[b].offset;
        along_y(from, from + Isa::lanes, pair, to, to + Isa::lanes, column_step);
      }
    }
  }
  Isa::fence();
}

// Returns the start of a row of a tile in a tensor: channel 0 of `block`.
template <class Isa>
float* row_of(const PlaneSink& sink, const TensorView& view, std::int64_t block, std::int64_t y) {
  const std::int64_t channels = view.format.layout == Layout::planar ? Isa::lanes : 1;
  return view.data + sink.stack.s * view.strides.S + block * channels * view.strides.f + sink.z * view.strides.z +
         y * view.strides.y + sink.stack.x * view.strides.x;
}

// Adds a planar residual's row to a line, lane by lane.
template <class Isa>
void add_planar(const PlaneSink& sink, std::int64_t block, std::int64_t y, float* line, std::int64_t inside) {
  const TensorView& residual = *sink.residual;
  const float* channel = row_of<Isa>(sink, residual, block, y);
  const std::int64_t left = residual.shape.f - block * Isa::lanes;
  for (std::int64_t j = 0; j < left && j < Isa::lanes; ++j, channel += residual.strides.f) {
    for (std::int64_t x = 0; x < inside; ++x) line[x * Isa::lanes + j] += channel[x * residual.strides.x];
  }
}

// Prefetches a row of a blocked residual. Each row may lie on other pages, so its two ends are touched first.
template <class Isa>
void fetch_residual(const PlaneSink& sink, std::int64_t block, std::int64_t y, std::int64_t inside) {
  const float* from = row_of<Isa>(sink, *sink.residual, block, sink.stack.y + y);
  const std::int64_t step = sink.residual->strides.x;
  Isa::load_ahead(from);
  Isa::load_ahead(from + (inside - 1) * step);
  for (std::int64_t x = 0; x < inside; ++x, from += step) Isa::prefetch(from);
}

// Applies an activation that is not lengthy, while a voxel is written.
template <class Isa>
inline typename Isa::V activated(typename Isa::V value, const Activation& activation) {
  if (activation.kind == ActivationKind::relu) return relu<Isa>(value);
  if (activation.kind == ActivationKind::leaky_relu) return leaky_relu<Isa>(value, activation.alpha);
  return value;
}

// Writes one line of a block to the planar channels of the output. Lengthy activations are applied to the rows, because
// there are fewer of them than lanes, unless a row has gaps. This function and the next are not inlined: they would
// displace loop variables of write_line() from registers.
template <class Isa>
__attribute__((noinline)) void scatter_line(const PlaneSink& sink, std::int64_t block, float* to, float* line,
                                            std::int64_t inside) {
  const TensorView& out = *sink.out;
  const Activation activation = sink.tiling->problem.activation;
  const std::int64_t left = out.shape.f - block * Isa::lanes;
  const std::int64_t step = out.strides.x;
  if (is_lengthy(activation.kind) && step != 1) activate_vectors<Isa>(activation, line, inside * Isa::lanes);
  for (std::int64_t j = 0; j < left && j < Isa::lanes; ++j, to += out.strides.f) {
    for (std::int64_t x = 0; x < inside; ++x) to[x * step] = line[x * Isa::lanes + j];
    if (is_lengthy(activation.kind) && step == 1) activate_vectors<Isa>(activation, to, inside);
  }
}

// Applies a lengthy activation to one line of a block; padding channels stay zero.
template <class Isa>
__attribute__((noinline)) void activate_line(const PlaneSink& sink, std::int64_t block, float* line,
                                             std::int64_t inside) {
  const std::int64_t count = inside * Isa::lanes;
  activate_vectors<Isa>(sink.tiling->problem.activation, line, count);
  const std::int64_t left = sink.tiling->problem.f_out - block * Isa::lanes;
  if (left < Isa::lanes) clear_lanes({line, static_cast<std::size_t>(count)}, left, Isa::lanes);
}

// Finishes `inside` voxels of a line of a block and writes them to row `y`. May change the line.
template <class Isa>
void write_line(const PlaneSink& sink, std::int64_t block, std::int64_t y, float* line, std::int64_t inside) {
  const TensorView& out = *sink.out;
  const bool planar = out.format.layout == Layout::planar;
  float* to = row_of<Isa>(sink, out, block, y);
  const bool whole_cache_lines = Isa::lanes == 16 || out.strides.x == Isa::lanes;  // else other phases lie between
  const bool aligned = reinterpret_cast<std::uintptr_t>(to) % sizeof(typename Isa::V) == 0 &&
                       out.strides.x % Isa::lanes == 0 && whole_cache_lines;
  const Activation activation = sink.tiling->problem.activation;
  const typename Isa::V bias = Isa::load(sink.bias + block * Isa::lanes);
  const bool at_once = aligned && !planar && !is_lengthy(activation.kind);
  if (sink.residual != nullptr && planar) add_planar<Isa>(sink, block, y, line, inside);
  const float* added = sink.residual != nullptr && !planar ? row_of<Isa>(sink, *sink.residual, block, y) : nullptr;
  for (std::int64_t x = 0; x < inside; ++x) {
    typename Isa::V value = Isa::load(line + x * Isa::lanes) + bias;
    if (added != nullptr) value += Isa::load(added + x * sink.residual->strides.x);
    value = activated<Isa>(value, activation);
    if (at_once) {
      Isa::stream(to + x * out.strides.x, value);
    } else {
      Isa::store(line + x * Isa::lanes, value);
    }
  }
  if (at_once) return;
  if (planar) return scatter_line<Isa>(sink, block, to, line, inside);
  if (is_lengthy(activation.kind)) activate_line<Isa>(sink, block, line, inside);
  for (std::int64_t x = 0; x < inside; ++x, to += out.strides.x) {
    const typename Isa::V value = Isa::load(line + x * Isa::lanes);
    aligned ? Isa::stream(to, value) : Isa::store(to, value);
  }
}

// Transforms the lines along x of one block back, from [y][kx].
template <class Isa>
void inverse_lines(const PlaneSink& sink, std::int64_t block, const float* plane, float* line) {
  const Tiling& t = *sink.tiling;
  const Vec3 n_out = sink.out->shape.n;
  const Vec3 m = t.m();
  const Codelet along_x = c2r_codelet<Isa, false>(t.T.x);
  const std::int64_t rows = n_out.y - sink.stack.y < m.y ? n_out.y - sink.stack.y : m.y;
  const std::int64_t inside = n_out.x - sink.stack.x < m.x ? n_out.x - sink.stack.x : m.x;
  const std::int64_t row_step = row_floats(t);
  const bool adds_blocks = sink.residual != nullptr && sink.residual->format.layout != Layout::planar;
  for (std::int64_t y = 0; adds_blocks && y < rows_ahead && y < rows; ++y) fetch_residual<Isa>(sink, block, y, inside);
  for (std::int64_t y = 0; y < rows; ++y, plane += row_step) {
    if (adds_blocks && y + rows_ahead < rows) fetch_residual<Isa>(sink, block, y + rows_ahead, inside);
    float* const to = sink.bias == nullptr ? row_of<Isa>(sink, *sink.out, block, sink.stack.y + y) : line;
    along_x(plane, plane + Isa::lanes, t.block_step(), to, nullptr, Isa::lanes);
    if (sink.bias != nullptr) write_line<Isa>(sink, block, sink.stack.y + y, line, inside);
  }
}

// Prefetches the columns of one kx, which lie far apart.
template <class Isa>
void fetch_columns(const Tiling& t, std::int64_t kx, const float* spectra, const PlaneBlock* places,
                   std::int64_t blocks) {
  const std::int64_t count = kx == t.T.x / 2 ? t.T.y / 2 + 1 : t.T.y;
  const std::int64_t column_step = t.column_step();
  const float* from = spectra + t.first_column(kx) * column_step;
  for (std::int64_t ky = 0; ky < count; ++ky, from += column_step) {
    for (std::int64_t b = 0; b < blocks; ++b) {
      for (std::int64_t i = 0; i < t.block_step(); i += 16) Isa::prefetch(from + places[b].offset + i);
    }
  }
}

// Transforms the lines along x of one block of a plane back. The last plane, rows and voxels of a tile may lie beyond
// the output of a phase.
template <class Isa>
void inverse_block(const InverseTask& task, const PlaneBlock& place, const float* plane, float* line) {
  const Tiling& t = *task.tiling;
  const TensorView out = phase_view(*task.out, t.phases.dilation, place.stack.phase);
  const Vec3 first{task.z, place.stack.y, place.stack.x};
  if (!covers(out.shape.n, first + Vec3::cube(1))) return;
  TensorView residual;
  if (task.residual != nullptr) residual = phase_view(*task.residual, t.phases.dilation, place.stack.phase);
  const PlaneSink sink{&t, &out, task.residual == nullptr ? nullptr : &residual, task.bias, place.stack, task.z};
  inverse_lines<Isa>(sink, place.block, plane, line);
}

template <class Isa>
void inverse_plane(const InverseTask& task) {
  const Tiling& t = *task.tiling;
  const std::int64_t half = t.T.x / 2;
  const std::int64_t column_step = t.column_step();
  const std::int64_t count = task.stacks * t.out_blocks();
  const Codelet real = c2r_codelet<Isa, false>(t.T.y);
  const Codelet complex = c2c_codelet<Isa, false>(t.T.y);
  float* line = task.scratch + inverse_scratch(t) - t.T.x * Isa::lanes;
  for (std::int64_t first = 0; first < count; first += blocks_at_once) {
    const std::int64_t blocks = count - first < blocks_at_once ? count - first : blocks_at_once;
    PlaneBlock places[blocks_at_once];
    for (std::int64_t b = 0; b < blocks; ++b) {
      places[b] = plane_block(t, task.first_stack, t.out_blocks(), first + b);
    }
    for (std::int64_t kx = 0; kx <= half; ++kx) {
      const float* column = task.spectra + t.first_column(kx) * column_step;
      if (kx < half) fetch_columns<Isa>(t, kx + 1, task.spectra, places, blocks);
      for (std::int64_t b = 0; b < blocks; ++b) {
        const float* from = column + places[b].offset;
        float* to = task.scratch + b * plane_floats(t) + kx * t.block_step();
        if (kx == 0 || kx == half) {
          real(from, from + Isa::lanes, column_step, to, nullptr, row_floats(t));
        } else {
          complex(from + Isa::lanes, from, column_step, to + Isa::lanes, to, row_floats(t));
        }
      }
    }
    for (std::int64_t b = 0; b < blocks; ++b) {
      inverse_block<Isa>(task, places[b], task.scratch + b * plane_floats(t), line);
    }
  }
  Isa::fence();
}

}  // namespace znni::cpu::fft_tiled
