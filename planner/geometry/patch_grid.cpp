#include "planner/geometry/patch_grid.hpp"

#include <algorithm>
#include <numeric>

#include "planner/network/swap_axes.hpp"

namespace znni {
namespace {

// One patch along one axis.
struct PartAlong {
  std::int64_t start = 0;
  std::int64_t own_first = 0;
  std::int64_t own_last = 0;
};

// Returns how many patches of dense extent `part`, `step` apart but for the last, cover `dense`.
std::int64_t count_along(std::int64_t dense, std::int64_t part, std::int64_t step) {
  return dense <= part ? 1 : div_up(dense - part, step) + 1;
}

// Places patch `i` of `count` along one axis. It owns [i step, (i + 1) step), the last one the rest, and reads nothing
// beyond the end of the volume.
PartAlong part_along(std::int64_t dense, std::int64_t part, std::int64_t step, std::int64_t count, std::int64_t i) {
  const std::int64_t start = std::min(i * step, std::max<std::int64_t>(0, dense - part));
  const std::int64_t last = i + 1 == count ? dense : (i + 1) * step;
  return {start, i * step - start, last - start};
}

struct Extents {
  Vec3 dense;
  Vec3 part;
  Vec3 step;  // the part in whole periods
  Vec3 count;
};

Extents extents(Vec3 volume, Vec3 patch_input, Vec3 fov, Vec3 period) {
  ensure(covers(volume, fov), "the volume is smaller than the field of view");
  ensure(covers(patch_input, fov), "the patch is smaller than the field of view");
  Extents result{volume - fov + Vec3::cube(1), patch_input - fov + Vec3::cube(1), {}, {}};
  result.step = result.part / period * period;
  ensure(covers(result.step, Vec3::cube(1)), "a patch writes a period at least");
  for (int axis = 0; axis < 3; ++axis) {
    result.count[axis] = count_along(result.dense[axis], result.part[axis], result.step[axis]);
  }
  return result;
}

GridPatch patch_at(const Extents& extents, Vec3 at) {
  GridPatch result;
  for (int axis = 0; axis < 3; ++axis) {
    const PartAlong along =
        part_along(extents.dense[axis], extents.part[axis], extents.step[axis], extents.count[axis], at[axis]);
    result.start[axis] = along.start;
    result.own_first[axis] = along.own_first;
    result.own_last[axis] = along.own_last;
  }
  return result;
}

// How columns of steps cover the dense planes.
struct Columns {
  Extents all;              // part.z: new planes of a step
  std::int64_t before = 0;  // planes of input that only the next ones' output needs: fov - 1, and the lead
  std::int64_t band = 0;    // dense planes between two new beginnings
  std::int64_t period = 1;  // along z: bands begin at multiples of it
  int axis = 0;             // swapped with z in all these
  std::int64_t phases = 1;  // of each column
  bool to_and_fro = false;  // the last stream of a band goes on as the first of the next

  // Returns true if every step completes planes of output.
  [[nodiscard]] bool alone() const { return axis == 0 && in_a_row() == 1; }
  // Returns the number of phases of all columns that stand side by side in one row of the grid.
  [[nodiscard]] std::int64_t in_a_row() const {
    return mul(phases, axis == 0 ? mul(all.count.y, all.count.x) : all.count[3 - axis]);
  }
  // Return the steps of a band of so many planes, for a stream that begins with it and for one that goes on.
  [[nodiscard]] std::int64_t steps(std::int64_t planes) const { return div_up(add(planes, before), all.part.z); }
  [[nodiscard]] std::int64_t further_steps(std::int64_t planes) const { return div_up(planes, all.part.z); }
  [[nodiscard]] std::int64_t bands() const { return div_up(all.dense.z, band); }
  // Returns the steps of all streams.
  [[nodiscard]] std::int64_t all_steps() const {
    const std::int64_t whole = all.dense.z / band;
    const std::int64_t rest = all.dense.z % band;
    const std::int64_t begun = add(mul(whole, steps(band)), rest == 0 ? 0 : steps(rest));
    const std::int64_t sum = mul(mul(phases, begun), mul(all.count.y, all.count.x));
    if (!to_and_fro || whole == 0 || sum == saturated) return sum;
    const std::int64_t saved = mul(whole - 1, steps(band) - further_steps(band));
    return sum - saved - (rest == 0 ? 0 : steps(rest) - further_steps(rest));
  }
};

// Returns the largest band of no more than `max_planes` that fills its last step.
std::int64_t band_planes(const Columns& columns, std::int64_t max_planes) {
  ensure(max_planes >= 1, "at least one plane may wait");
  if (columns.alone() || columns.axis != 0 || max_planes >= columns.all.dense.z) return columns.all.dense.z;
  const std::int64_t part = columns.all.part.z;
  const std::int64_t filled = add(max_planes, columns.before) / part * part - columns.before;
  const bool fits = filled >= 1 && filled % columns.period == 0;
  return std::max(fits ? filled : max_planes / columns.period * columns.period, columns.period);
}

Columns make_columns(Vec3 volume, const Geometry& geometry, Vec3 fov, std::int64_t max_planes, int sockets) {
  const int axis = geometry.choice.axis;
  fov = swap_axes(fov, axis);
  Columns columns{extents(swap_axes(volume, axis), geometry.patch_input, fov, geometry.period),
                  fov.z - 1 + geometry.lead,
                  0,
                  geometry.period.z,
                  axis,
                  geometry.phases};
  columns.band = band_planes(columns, max_planes);
  const bool ends_with_a_step = (columns.band + columns.before) % columns.all.part.z == 0;
  columns.to_and_fro = axis == 0 && columns.in_a_row() > 1 && sockets == 1 && ends_with_a_step;
  return columns;
}

// One phase of a column whose output is the planes [first, last).
struct Phase {
  std::int64_t first = 0;
  std::int64_t last = 0;
  Vec3 at;
  int number = 0;
  bool goes_on = false;  // its last step ended with the plane before them
};

GridPatch patch_of_step(const Columns& columns, const Phase& phase, std::int64_t number) {
  GridPatch step = patch_at(columns.all, phase.at);
  const std::int64_t part = columns.all.part.z;
  step.start.z = phase.first + number * part - (phase.goes_on ? 0 : columns.before);
  step.own_first.z = std::clamp<std::int64_t>(phase.first - step.start.z, 0, part);
  step.own_last.z = std::clamp<std::int64_t>(phase.last - step.start.z, 0, part);
  step.continues = number > 0 || phase.goes_on;
  step.phase = phase.number;
  return step;
}

// Adds the steps of a phase. If it is alone, it completes planes step by step.
void add_phase(const Columns& columns, const Phase& phase, PatchGrid& grid) {
  const std::int64_t planes_of_phase = phase.last - phase.first;
  const std::int64_t steps = phase.goes_on ? columns.further_steps(planes_of_phase) : columns.steps(planes_of_phase);
  for (std::int64_t number = 0; number < steps; ++number) {
    const GridPatch step = patch_of_step(columns, phase, number);
    grid.patches.push_back(step);
    const std::int64_t planes = step.own_last.z - step.own_first.z;
    if (!columns.alone() || planes == 0) continue;
    const auto end = static_cast<std::int64_t>(grid.patches.size());
    grid.rows.push_back({end, step.start.z + step.own_first.z, planes});
  }
}

void add_column(const Columns& columns, std::int64_t first, std::int64_t last, Vec3 at, PatchGrid& grid) {
  for (int phase = 0; phase < columns.phases; ++phase) add_phase(columns, {first, last, at, phase}, grid);
}

// Makes the grid of columns along y or x.
PatchGrid make_grid_of_rows(const Columns& columns) {
  const Vec3 count = columns.all.count;
  PatchGrid grid;
  grid.patches.reserve(static_cast<std::size_t>(columns.all_steps()));
  const int row = columns.axis;  // where the volume's z is
  const int within = 3 - row;
  Vec3 at;
  for (at[row] = 0; at[row] < count[row]; ++at[row]) {
    for (at[within] = 0; at[within] < count[within]; ++at[within]) {
      add_column(columns, 0, columns.all.dense.z, at, grid);
    }
    const GridPatch& last = grid.patches.back();
    const auto end = static_cast<std::int64_t>(grid.patches.size());
    grid.rows.push_back({end, last.start[row] + last.own_first[row], last.own_last[row] - last.own_first[row]});
  }
  return grid;
}

// Adds every phase of every column of a band; if bands go to and fro, every other band goes backwards.
void add_band(const Columns& columns, std::int64_t number, PatchGrid& grid) {
  const std::int64_t first = mul(number, columns.band);
  const std::int64_t last = std::min(add(first, columns.band), columns.all.dense.z);
  const std::int64_t streams = columns.in_a_row();
  for (std::int64_t i = 0; i < streams; ++i) {
    const std::int64_t stream = columns.to_and_fro && number % 2 == 1 ? streams - 1 - i : i;
    const std::int64_t column = stream / columns.phases;
    const Vec3 at{0, column / columns.all.count.x, column % columns.all.count.x};
    const bool goes_on = columns.to_and_fro && number > 0 && i == 0;
    add_phase(columns, {first, last, at, static_cast<int>(stream % columns.phases), goes_on}, grid);
  }
  if (columns.alone()) return;
  grid.rows.push_back({static_cast<std::int64_t>(grid.patches.size()), first, last - first});
}

PatchGrid make_stream_grid(const Columns& columns) {
  if (columns.axis != 0) return make_grid_of_rows(columns);
  PatchGrid grid;
  grid.patches.reserve(static_cast<std::size_t>(columns.all_steps()));
  for (std::int64_t number = 0; number < columns.bands(); ++number) add_band(columns, number, grid);
  return grid;
}

}  // namespace

PatchGrid make_patch_grid(Vec3 volume, Vec3 patch_input, Vec3 fov, Vec3 period) {
  const Extents all = extents(volume, patch_input, fov, period);
  PatchGrid grid;
  grid.patches.reserve(static_cast<std::size_t>(voxels(all.count)));
  for (std::int64_t z = 0; z < all.count.z; ++z) {
    for (std::int64_t y = 0; y < all.count.y; ++y) {
      for (std::int64_t x = 0; x < all.count.x; ++x) grid.patches.push_back(patch_at(all, {z, y, x}));
    }
    const GridPatch& last = grid.patches.back();
    const auto end = static_cast<std::int64_t>(grid.patches.size());
    grid.rows.push_back({end, last.start.z + last.own_first.z, last.own_last.z - last.own_first.z});
  }
  return grid;
}

const GridRow& row_of(const PatchGrid& grid, std::int64_t patch) {
  const auto ends_behind = [](std::int64_t index, const GridRow& row) { return index < row.end; };
  return *std::upper_bound(grid.rows.begin(), grid.rows.end(), patch, ends_behind);
}

std::int64_t patch_count(Vec3 volume, Vec3 patch_input, Vec3 fov, Vec3 period) {
  return voxels(extents(volume, patch_input, fov, period).count);
}

PatchGrid make_patch_grid(Vec3 volume, const Geometry& geometry, Vec3 fov, std::int64_t max_planes, int sockets) {
  if (!geometry.choice.streamed) return make_patch_grid(volume, geometry.patch_input, fov, geometry.period);
  return make_stream_grid(make_columns(volume, geometry, fov, max_planes, sockets));
}

std::int64_t patch_count(Vec3 volume, const Geometry& geometry, Vec3 fov, std::int64_t max_planes, int sockets) {
  if (!geometry.choice.streamed) return patch_count(volume, geometry.patch_input, fov, geometry.period);
  return make_columns(volume, geometry, fov, max_planes, sockets).all_steps();
}

std::int64_t batches_in_turn(Vec3 volume, const Geometry& geometry, Vec3 fov, std::int64_t max_planes, int sockets) {
  const std::int64_t batches = div_up(patch_count(volume, geometry, fov, max_planes, sockets), geometry.choice.S);
  if (!geometry.choice.streamed || sockets == 1) return div_up(batches, sockets);
  const std::int64_t columns = make_columns(volume, geometry, fov, max_planes, sockets).in_a_row();
  return mul(batches / columns, div_up(columns, sockets));
}

std::int64_t streams_in_turn(Vec3 volume, const Geometry& geometry, Vec3 fov, std::int64_t max_planes, int sockets) {
  if (!geometry.choice.streamed) return 0;
  const Columns columns = make_columns(volume, geometry, fov, max_planes, sockets);
  const Vec3 count = columns.all.count;
  const std::int64_t bands = columns.bands();
  const std::int64_t rows = mul(mul(columns.phases, bands), mul(count.y, count.x)) / columns.in_a_row();
  return mul(rows, div_up(columns.in_a_row(), sockets)) - (columns.to_and_fro ? bands - 1 : 0);
}

std::int64_t row_planes(Vec3 volume, const Geometry& geometry, Vec3 fov, std::int64_t max_planes) {
  const int axis = geometry.choice.axis;
  const std::int64_t part = geometry.patch_output[axis];
  if (!geometry.choice.streamed || axis != 0) return part;
  const Columns columns = make_columns(volume, geometry, fov, max_planes, 1);
  return columns.alone() ? part : columns.band;
}

std::int64_t rows_of_batch(Vec3 volume, const Geometry& geometry, Vec3 fov) {
  if (geometry.choice.streamed) return 1;
  const Vec3 count = extents(volume, geometry.patch_input, fov, geometry.period).count;
  const std::int64_t in_a_row = mul(count.y, count.x);
  const std::int64_t S = geometry.choice.S;
  // Batches begin at multiples of S: the last such place in a row.
  const std::int64_t latest = in_a_row - std::gcd(in_a_row, S);
  return std::min(count.z, div_up(add(latest, S), in_a_row));
}

std::int64_t input_planes(Vec3 volume, const Geometry& geometry, Vec3 fov, std::int64_t max_planes, int sockets) {
  if (!geometry.choice.streamed) {
    const Vec3 count = extents(volume, geometry.patch_input, fov, geometry.period).count;
    const std::int64_t more_rows = div_up(geometry.choice.S - 1, mul(count.y, count.x));
    return std::min(volume.z, add(geometry.patch_input.z, mul(more_rows, geometry.patch_output.z)));
  }
  if (geometry.choice.axis != 0) return std::min(volume.z, geometry.patch_input[geometry.choice.axis]);
  const Columns columns = make_columns(volume, geometry, fov, max_planes, sockets);
  const std::int64_t part = columns.all.part.z;
  if (columns.alone()) return std::min(volume.z, part);
  const std::int64_t begun = mul(columns.steps(columns.band), part);
  // A column that goes on ends within a step.
  const std::int64_t gone_on = add(columns.before, mul(columns.further_steps(columns.band), part));
  return std::min(volume.z, columns.to_and_fro && columns.bands() > 1 ? std::max(begun, gone_on) : begun);
}

std::int64_t input_planes_ahead(Vec3 volume, const Geometry& geometry, Vec3 fov, std::int64_t max_planes) {
  if (!geometry.choice.streamed) {
    Geometry all = geometry;
    all.choice.S *= 3;
    return input_planes(volume, all, fov, max_planes);
  }
  const int axis = geometry.choice.axis;  // where the volume's z is
  const std::int64_t next = mul(2, geometry.patch_output[axis]);
  const std::int64_t more = axis == 0 ? fov.z - 1 + next : next;
  return std::min(volume.z, add(input_planes(volume, geometry, fov, max_planes), more));
}

}  // namespace znni
