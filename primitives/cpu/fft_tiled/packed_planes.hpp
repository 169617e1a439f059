// Transforms of the packed units of one plane of a group (tiling.hpp), forward and back. Lines of 4 stacks are
// transformed together; each has a quad of 4 lanes.
#pragma once

#include "primitives/cpu/fft_tiled/plane_transforms.hpp"

namespace znni::cpu::fft_tiled {

inline constexpr std::int64_t max_group = 4;

// Four rows of voxels, of which a line takes a quad each; `begin` to `end` are inside.
struct QuadRows {
  float zeros[unit_lanes] = {};
  const float* from[max_group] = {};
  std::int64_t begin[max_group] = {};
  std::int64_t end[max_group] = {};
  std::int64_t step = 0;   // floats between voxels
  std::int64_t ahead = 0;  // floats to a voxel that is prefetched; 0: none
};

// Writes the line of `count` voxels; quads outside are zero.
template <class Isa>
void write_quads(const QuadRows& rows, std::int64_t count, float* line) {
  std::int64_t begin = 0;
  std::int64_t end = count;
  for (int s = 0; s < max_group; ++s) {
    begin = begin > rows.begin[s] ? begin : rows.begin[s];
    end = end < rows.end[s] ? end : rows.end[s];
  }
  for (std::int64_t x = 0; x < count; ++x, line += Isa::lanes) {
    const std::int64_t at = x * rows.step;
    if (x >= begin && x < end) {
      if (rows.ahead != 0) {
#pragma GCC unroll 4
        for (int s = 0; s < max_group; ++s) Isa::prefetch(rows.from[s] + at + rows.ahead);
      }
      Isa::store(line, Isa::quads(rows.from[0] + at, rows.from[1] + at, rows.from[2] + at, rows.from[3] + at));
    } else {
      const float* quads[max_group];
#pragma GCC unroll 4
      for (int s = 0; s < max_group; ++s) {
        quads[s] = x >= rows.begin[s] && x < rows.end[s] ? rows.from[s] + at : rows.zeros;
      }
      Isa::store(line, Isa::quads(quads[0], quads[1], quads[2], quads[3]));
    }
  }
}

// Returns the first unit of the group that begins with a stack of the layer, from the first block of that stack.
template <class Float>
__attribute__((always_inline)) inline Float* first_unit(const Tiling& t, Float* first_block, std::int64_t first_stack) {
  const std::int64_t place = first_stack % t.stacks_per_batch;
  return first_block + t.units_offset() - place * t.stack_step() + place / t.group() * t.group_step();
}

// The windows of a group's stacks, in one plane. A stack that is not of the task, or that does not reach the plane, has
// no input.
struct GroupSource {
  const Tiling* tiling = nullptr;
  TensorView in[max_group];
  Stack stack[max_group];
  bool present[max_group] = {};
  std::int64_t z = 0;
};

template <class Isa>
GroupSource group_source(const ForwardTask& task) {
  const Tiling& t = *task.tiling;
  GroupSource source;
  source.tiling = &t;
  source.z = task.z - task.border.z;
  for (int s = 0; s < max_group && s < task.stacks; ++s) {
    const Stack stack = stack_at(t, task.first_stack + s);
    source.in[s] = phase_view(*task.in, t.phases.dilation, stack.phase);
    source.stack[s] = {stack.s, stack.y - task.border.y, stack.x - task.border.x, {}};
    source.present[s] = source.z < source.in[s].shape.n.z;
  }
  return source;
}

// Gathers the voxels of one line of a unit of planar channels, lane by lane.
template <class Isa>
void gather_planar_unit(const GroupSource& source, std::int64_t unit, std::int64_t y, float* line) {
  const Tiling& t = *source.tiling;
  for (std::int64_t x = 0; x < t.T.x; ++x) Isa::store(line + x * Isa::lanes, typename Isa::V{});
  for (int s = 0; s < max_group; ++s) {
    const TensorView& in = source.in[s];
    const std::int64_t row = source.stack[s].y + y;
    if (!source.present[s] || row < 0 || row >= in.shape.n.y) continue;
    const std::int64_t first = source.stack[s].x < 0 ? -source.stack[s].x : 0;
    const std::int64_t left = in.shape.n.x - source.stack[s].x;
    const std::int64_t inside = left < t.T.x ? left : t.T.x;
    for (std::int64_t i = unit * unit_lanes; i < in.shape.f && i < (unit + 1) * unit_lanes; ++i) {
      const float* from = in.data + source.stack[s].s * in.strides.S + i * in.strides.f + source.z * in.strides.z +
                          row * in.strides.y + source.stack[s].x * in.strides.x;
      float* const to = line + s * unit_lanes + i % unit_lanes;
      for (std::int64_t x = first; x < inside; ++x) to[x * Isa::lanes] = from[x * in.strides.x];
    }
  }
}

// Gathers the voxels of one line of a unit.
template <class Isa>
void gather_unit(const GroupSource& source, std::int64_t unit, std::int64_t y, float* line) {
  const Tiling& t = *source.tiling;
  QuadRows rows;
  for (int s = 0; s < max_group; ++s) {
    const TensorView& in = source.in[s];
    const Stack& stack = source.stack[s];
    const std::int64_t row = stack.y + y;
    if (!source.present[s] || row < 0 || row >= in.shape.n.y) {
      rows.from[s] = rows.zeros;
      continue;
    }
    rows.from[s] = in.data + stack.s * in.strides.S + t.in_blocks() * in.strides.f + source.z * in.strides.z +
                   row * in.strides.y + stack.x * in.strides.x + unit * unit_lanes;
    rows.begin[s] = stack.x < 0 ? -stack.x : 0;
    const std::int64_t left = in.shape.n.x - stack.x;
    rows.end[s] = left < t.T.x ? left : t.T.x;
    rows.step = in.strides.x;
    rows.ahead = unit == 0 ? rows_ahead * in.strides.y : 0;
  }
  write_quads<Isa>(rows, t.T.x, line);
}

// Transforms the lines along x of all units of a plane; the result is [unit][kx][y].
template <class Isa>
void forward_units_lines(const GroupSource& source, float* planes, float* line) {
  const Tiling& t = *source.tiling;
  const std::int64_t pair = t.block_step();
  const Codelet along_x = r2c_codelet<Isa, false>(t.T.x);
  const bool planar = source.in[0].format.layout == Layout::planar;
  for (std::int64_t y = 0; y < t.T.y; ++y) {
    for (std::int64_t unit = 0; unit < t.in_units(); ++unit) {
      planar ? gather_planar_unit<Isa>(source, unit, y, line) : gather_unit<Isa>(source, unit, y, line);
      float* const to = planes + unit * plane_floats(t) + y * pair;
      along_x(line, nullptr, Isa::lanes, to, to + Isa::lanes, t.T.y * pair);
    }
  }
}

// Transforms the units of the task's group.
template <class Isa>
void forward_units(const ForwardTask& task) {
  const Tiling& t = *task.tiling;
  const std::int64_t half = t.T.x / 2;
  const std::int64_t pair = t.block_step();
  const std::int64_t column_step = t.column_step();
  float* const line = task.scratch + forward_scratch(t) - t.T.x * Isa::lanes;
  float* const units = first_unit(t, task.spectra, task.first_stack);
  forward_units_lines<Isa>(group_source<Isa>(task), task.scratch, line);
  const Codelet real = task.past_caches ? r2c_codelet<Isa, true>(t.T.y) : r2c_codelet<Isa, false>(t.T.y);
  const Codelet complex = task.past_caches ? c2c_codelet<Isa, true>(t.T.y) : c2c_codelet<Isa, false>(t.T.y);
  for (std::int64_t kx = 0; kx <= half; ++kx) {
    const Codelet along_y = kx == 0 || kx == half ? real : complex;
    for (std::int64_t unit = 0; unit < t.in_units(); ++unit) {
      const float* const from = task.scratch + unit * plane_floats(t) + kx * t.T.y * pair;
      float* const to = units + t.first_column(kx) * column_step + unit * pair;
      along_y(from, from + Isa::lanes, pair, to, to + Isa::lanes, column_step);
    }
  }
}

template <class Isa>
void clear_units(const ForwardTask& task) {
  const Tiling& t = *task.tiling;
  float* units = first_unit(t, task.spectra, task.first_stack);
  for (std::int64_t column = 0; column < t.columns(); ++column, units += t.column_step()) {
    for (std::int64_t i = 0; i < t.in_units() * t.block_step(); i += Isa::lanes)
      Isa::store(units + i, typename Isa::V{});
  }
}

// The parts of the output of a group's stacks.
struct GroupSink {
  TensorView out[max_group];
  TensorView residual[max_group];
  PlaneSink sink[max_group];
  std::int64_t rows[max_group] = {};    // 0: none
  std::int64_t inside[max_group] = {};  // voxels of a row
};

template <class Isa>
void make_group_sink(const InverseTask& task, GroupSink& group) {
  const Tiling& t = *task.tiling;
  const Vec3 m = t.m();
  for (int s = 0; s < max_group && s < task.stacks; ++s) {
    const Stack stack = stack_at(t, task.first_stack + s);
    group.out[s] = phase_view(*task.out, t.phases.dilation, stack.phase);
    const Vec3 left = group.out[s].shape.n - Vec3{task.z, stack.y, stack.x};
    if (left.z <= 0 || left.y <= 0 || left.x <= 0) continue;
    if (task.residual != nullptr) group.residual[s] = phase_view(*task.residual, t.phases.dilation, stack.phase);
    group.sink[s] = {&t,        &group.out[s], task.residual == nullptr ? nullptr : &group.residual[s],
                     task.bias, stack,         task.z};
    group.rows[s] = left.y < m.y ? left.y : m.y;
    group.inside[s] = left.x < m.x ? left.x : m.x;
  }
}

// Takes the voxels of one stack from the lines of all units, finishes them and writes them past the caches.
template <class Isa, int units>
void stream_units(const PlaneSink& sink, float* to, const float* lines, std::int64_t inside) {
  const Tiling& t = *sink.tiling;
  const std::int64_t line_floats = t.T.x * Isa::lanes;
  const std::int64_t step = sink.out->strides.x;
  const Activation activation = t.problem.activation;
  const typename Isa::V bias = Isa::load(sink.bias + t.out_blocks() * Isa::lanes);
  for (std::int64_t x = 0; x < inside; ++x, lines += Isa::lanes, to += step) {
    const typename Isa::V value = Isa::template first_quads<units>(lines, line_floats) + bias;
    Isa::stream(to, activated<Isa>(value, activation));
  }
}

// Does the same for what is not written at once: as any other line.
template <class Isa, int units>
void write_units(const PlaneSink& sink, std::int64_t y, const float* lines, float* line, std::int64_t inside) {
  const Tiling& t = *sink.tiling;
  const std::int64_t line_floats = t.T.x * Isa::lanes;
  for (std::int64_t x = 0; x < inside * Isa::lanes; x += Isa::lanes) {
    Isa::store(line + x, Isa::template first_quads<units>(lines + x, line_floats));
  }
  write_line<Isa>(sink, t.out_blocks(), y, line, inside);
}

template <class Isa, int units>
void write_units_line(const GroupSink& group, int s, std::int64_t y, const float* lines, float* line) {
  const PlaneSink& sink = group.sink[s];
  const TensorView& out = *sink.out;
  const std::int64_t row = sink.stack.y + y;
  const float* const from = lines + s * unit_lanes;
  const bool blocked = out.format.layout != Layout::planar;
  float* const to = row_of<Isa>(sink, out, sink.tiling->out_blocks(), row);
  const bool aligned =
      reinterpret_cast<std::uintptr_t>(to) % sizeof(typename Isa::V) == 0 && out.strides.x % Isa::lanes == 0;
  if (blocked && aligned && sink.residual == nullptr && !is_lengthy(sink.tiling->problem.activation.kind)) {
    return stream_units<Isa, units>(sink, to, from, group.inside[s]);
  }
  write_units<Isa, units>(sink, row, from, line, group.inside[s]);
}

// Transforms the lines along x of all units back, from [unit][y][kx].
template <class Isa>
void inverse_units_lines(const InverseTask& task, const float* planes, float* lines) {
  const Tiling& t = *task.tiling;
  GroupSink group;
  make_group_sink<Isa>(task, group);
  const Codelet along_x = c2r_codelet<Isa, false>(t.T.x);
  const std::int64_t line_floats = t.T.x * Isa::lanes;
  float* const line = lines + t.out_units() * line_floats;
  const auto write = t.out_units() == 1   ? &write_units_line<Isa, 1>
                     : t.out_units() == 2 ? &write_units_line<Isa, 2>
                                          : &write_units_line<Isa, 3>;
  const bool adds_blocks = task.residual != nullptr && task.residual->format.layout != Layout::planar;
  for (std::int64_t y = 0; y < t.m().y; ++y, planes += row_floats(t)) {
    for (std::int64_t unit = 0; unit < t.out_units(); ++unit) {
      const float* const from = planes + unit * plane_floats(t);
      along_x(from, from + Isa::lanes, t.block_step(), lines + unit * line_floats, nullptr, Isa::lanes);
    }
    for (int s = 0; s < max_group; ++s) {
      if (y >= group.rows[s]) continue;
      if (adds_blocks) fetch_residual<Isa>(group.sink[s], t.out_blocks(), y, group.inside[s]);
      write(group, s, y, lines, line);
    }
  }
}

// Transforms the units of the task's group back.
template <class Isa>
void inverse_units(const InverseTask& task) {
  const Tiling& t = *task.tiling;
  const std::int64_t half = t.T.x / 2;
  const std::int64_t column_step = t.column_step();
  float* const lines = task.scratch + inverse_scratch(t) - (1 + t.out_units()) * t.T.x * Isa::lanes;
  const float* const units = first_unit(t, task.spectra, task.first_stack);
  const Codelet real = c2r_codelet<Isa, false>(t.T.y);
  const Codelet complex = c2c_codelet<Isa, false>(t.T.y);
  PlaneBlock places[max_group];
  for (std::int64_t unit = 0; unit < t.out_units(); ++unit) places[unit].offset = unit * t.block_step();
  for (std::int64_t kx = 0; kx <= half; ++kx) {
    if (kx < half) fetch_columns<Isa>(t, kx + 1, units, places, t.out_units());
    for (std::int64_t unit = 0; unit < t.out_units(); ++unit) {
      const float* const from = units + t.first_column(kx) * column_step + unit * t.block_step();
      float* const to = task.scratch + unit * plane_floats(t) + kx * t.block_step();
      if (kx == 0 || kx == half) {
        real(from, from + Isa::lanes, column_step, to, nullptr, row_floats(t));
      } else {
        complex(from + Isa::lanes, from, column_step, to + Isa::lanes, to, row_floats(t));
      }
    }
  }
  inverse_units_lines<Isa>(task, task.scratch, lines);
}

// Tasks of tilings of either kind: blocks of the stacks' own, then packed units.
template <class Isa>
void forward_task(const ForwardTask& task) {
  const Tiling& t = *task.tiling;
  const std::int64_t z = task.z - task.border.z;
  const bool inside = z >= 0 && z * t.phases.dilation.z < task.in->shape.n.z;
  if constexpr (packs<Isa>) {
    if (t.in_units() > 0 && inside) forward_units<Isa>(task);
    if (t.in_units() > 0 && !inside) clear_units<Isa>(task);
  }
  forward_plane<Isa>(task);
}

template <class Isa>
void inverse_task(const InverseTask& task) {
  if constexpr (packs<Isa>) {
    if (task.tiling->out_units() > 0) inverse_units<Isa>(task);
  }
  inverse_plane<Isa>(task);
}

}  // namespace znni::cpu::fft_tiled
