#include "primitives/cpu/pool/stack_flow.hpp"

#include <algorithm>

#include "primitives/cpu/pool/stack_rows.hpp"

namespace znni::cpu {
namespace {

// Rows of so many floats wait for each other; longer ones are better read while they are in the first cache.
constexpr std::int64_t short_row = 256;
// Floats of a cache line.
constexpr std::int64_t line = 16;

// Returns what a level reads along an axis to write `out`.
StackRange read_for(const StackLevel& level, int axis, StackRange out) {
  const std::int64_t begin = out.begin - level.before()[axis];
  const std::int64_t end = out.end - level.before()[axis] + level.pool.window[axis] - 1;
  return {std::max<std::int64_t>(begin, 0), std::min(end, level.in[axis])};
}

// Returns the planes or rows that have to come in behind one before that of the output can be made.
std::int64_t lag_of(const StackLevel& level, int axis) { return level.pool.window[axis] - 1 - level.before()[axis]; }

// Returns the floats of a row in memory: whole cache lines, an odd number, so that neighbours differ in their sets.
std::int64_t pitch_of(std::int64_t floats) { return (div_up(add(floats, stack_lanes), line) | 1) * line; }

// Takes memory of a worker, one piece after the other.
class Places {
 public:
  std::int64_t take(std::int64_t rows, std::int64_t pitch) {
    const std::int64_t place = floats_;
    floats_ = add(floats_, mul(rows, pitch));
    return place;
  }
  [[nodiscard]] std::int64_t floats() const { return floats_; }

 private:
  std::int64_t floats_ = 0;
};

void place_level(LevelFlow& flow, std::int64_t width, std::int64_t block, bool in_blocks, Places& places) {
  const Vec3 window = flow.level.pool.window;
  const std::int64_t first = flow.x_out.begin - flow.level.before().x;
  flow.pad = (flow.x_in.begin - first) * width;
  flow.row_floats = (flow.x_out.length() + window.x - 1) * width;
  const std::int64_t before = round_up(flow.pad, line);  // so that the voxels behind the padding begin a line
  flow.row = places.take(1, pitch_of(flow.row_floats + before)) + before - flow.pad;
  flow.pitch = pitch_of(flow.x_out.length() * width);
  flow.planes = places.take(mul(window.z - 1, block), flow.pitch);
  flow.rows = places.take(mul(in_blocks ? flow.z_out.length() : 1, window.y - 1), flow.pitch);
}

}  // namespace

std::int64_t rows_of(std::span<const StackLevel> levels) {
  std::int64_t rows = levels.back().out.y;
  for (const StackLevel& level : levels) rows += lag_of(level, 1);
  return rows;
}

PartFlow flow_of(std::span<const StackLevel> levels, const StackPart& part, std::int64_t width, std::int64_t block) {
  PartFlow flow;
  flow.width = width;
  flow.y = rows_of(levels);
  flow.in_blocks = block < flow.y;
  flow.is_apart = !flow.in_blocks && part.x.length() * width <= short_row;
  const std::int64_t gap = flow.is_apart ? 1 : 0;
  flow.y += gap * std::ssize(levels);
  flow.block = flow.in_blocks ? block : flow.y;
  StackPart out = part;
  for (std::size_t i = levels.size(); i-- > 0;) {
    const StackPart in{read_for(levels[i], 0, out.z), read_for(levels[i], 2, out.x)};
    flow.levels.push_back({levels[i], in.z, out.z, in.x, out.x});
    out = in;
  }
  std::reverse(flow.levels.begin(), flow.levels.end());
  Places places;
  std::int64_t longest = 0;
  std::int64_t lag_z = 0;
  std::int64_t lag_y = gap;
  for (LevelFlow& level : flow.levels) {
    level.lag_z = lag_z;
    level.lag_y = lag_y;
    lag_z += lag_of(level.level, 0);
    lag_y += lag_of(level.level, 1) + gap;
    place_level(level, width, flow.block, flow.in_blocks, places);
    longest = std::max(longest, level.row_floats);
  }
  flow.z = {flow.levels.front().z_in.begin, part.z.end + lag_z};
  flow.lowest = places.take(1, pitch_of(longest));
  flow.zeros = places.take(1, pitch_of(longest));
  flow.unused = places.take(1, pitch_of(longest));
  flow.last_row = places.take(1, pitch_of(longest));
  flow.floats = places.floats();
  return flow;
}

}  // namespace znni::cpu
