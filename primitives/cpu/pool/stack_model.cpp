#include "primitives/cpu/pool/stack_model.hpp"

#include <algorithm>
#include <limits>

namespace znni::cpu {
namespace {

// Share of a core's second level cache that rows of a block take.
constexpr double cache_share = 0.6;
// Voxels of a row that are taken at once at most.
constexpr std::int64_t max_row = 256;
// Measured cycles of a row through a level: of each vector a load and a store, and each further voxel of a window along
// each axis. If the rows that a row meets in all levels do not fit the first cache, vectors take longer.
constexpr double cycles_per_row = 46.0;
constexpr double cycles_per_row_apart = 33.0;
constexpr double cycles_per_vector = 3.0;
constexpr double cycles_per_voxel = 0.65;
constexpr double cycles_per_far_vector = 5.0;
constexpr double cycles_per_far_voxel = 1.4;
constexpr std::int64_t near_bytes = 40 << 10;
// Cycles of a vector that is kept from one block to the next.
constexpr double cycles_per_kept_vector = 10.0;
// Of a vector of 8 floats, beside one of 16.
constexpr double share_of_half = 0.6;

StackRange piece(std::int64_t n, std::int64_t count, std::int64_t index) {
  return {index * n / count, (index + 1) * n / count};
}

// Returns the rows of a block for which what a part keeps of them fits the cache.
std::int64_t block_of(std::span<const StackLevel> levels, const StackPart& part, std::int64_t width,
                      const DeviceSpec& spec) {
  const std::int64_t rows = rows_of(levels);
  std::int64_t fixed = 0;  // floats
  std::int64_t of_row = 1;
  for (const LevelFlow& flow : flow_of(levels, part, width, 1).levels) {
    const Vec3 window = flow.level.pool.window;
    fixed = add(fixed, add(flow.row_floats, mul(window.y - 1, flow.pitch)));
    of_row = add(of_row, mul(window.z - 1, flow.pitch));
  }
  const double most = cache_share * static_cast<double>(spec.l2_bytes) / sizeof(float) - static_cast<double>(fixed);
  const auto fitting = static_cast<std::int64_t>(std::max(1.0, most / static_cast<double>(of_row)));
  return div_up(rows, div_up(rows, fitting));
}

// Returns whether the rows that a row meets on its way fit the first cache.
bool is_near(const PartFlow& part) {
  std::int64_t floats = 0;
  for (const LevelFlow& flow : part.levels) {
    const Vec3 window = flow.level.pool.window;
    floats = add(floats, mul(window.z + window.y, flow.pitch));
  }
  return mul(floats, sizeof(float)) <= near_bytes;
}

// Returns the cycles of a vector through a level.
double cycles_of_vector(const LevelFlow& flow, const PartFlow& part, bool near) {
  const Vec3 window = flow.level.pool.window;
  const auto voxels_more = static_cast<double>(window.z + window.y + window.x - 3);
  if (voxels_more == 0) return cycles_per_vector;
  const double kept = part.in_blocks ? static_cast<double>(window.y - 1) / static_cast<double>(part.block) : 0.0;
  const double far = near ? 0.0 : cycles_per_far_vector;
  return cycles_per_vector + far + voxels_more * (near ? cycles_per_voxel : cycles_per_far_voxel) +
         kept * cycles_per_kept_vector;
}

// Returns the cycles of one task.
double cycles_of(const PartFlow& part, const DeviceSpec& spec) {
  const bool near = is_near(part);
  const std::int64_t lanes = std::max(8, spec.simd_floats);
  double cycles = 0;
  for (const LevelFlow& flow : part.levels) {
    const auto vectors = static_cast<double>(div_up(flow.x_out.length() * part.width, lanes));
    const double rows = static_cast<double>(flow.z_in.length()) * static_cast<double>(flow.level.in.y);
    const double share = lanes == 8 ? share_of_half : 1.0;
    cycles += rows * (vectors * share * cycles_of_vector(flow, part, near) +
                      (part.is_apart ? cycles_per_row_apart : cycles_per_row));
  }
  return cycles;
}

// Returns into how many parts the planes are divided so that all workers have work.
std::int64_t parts_along_z(std::span<const StackLevel> levels, std::int64_t tasks, const DeviceSpec& spec) {
  std::int64_t halo = 0;
  for (const StackLevel& level : levels) halo += level.pool.window.z - 1;
  const std::int64_t n = levels.back().out.z;
  std::int64_t best = 1;
  double least = std::numeric_limits<double>::infinity();
  for (std::int64_t parts = 1; parts <= std::min<std::int64_t>(n, 4 * spec.threads); ++parts) {
    const std::int64_t computed = div_up(n, parts) + (parts > 1 ? div_up(halo, 2) : 0);
    const double rounds = static_cast<double>(div_up(mul(tasks, parts), spec.threads));
    const double time = rounds * static_cast<double>(computed);
    if (time < least * 0.99) {
      least = time;
      best = parts;
    }
  }
  return best;
}

}  // namespace

StackChunk divided(std::span<const StackLevel> levels, const Shape5& in, Format format, const DeviceSpec& spec) {
  const std::int64_t width = block_width(format.layout);
  const Vec3 out = levels.back().out;
  StackChunk chunk;
  chunk.blocks = mul(in.S, div_up(in.f, width));
  const std::int64_t along_x = div_up(out.x * width, max_row * 16);
  const std::int64_t along_z = parts_along_z(levels, mul(chunk.blocks, along_x), spec);
  const StackPart largest{piece(out.z, along_z, along_z - 1), piece(out.x, along_x, along_x - 1)};
  const std::int64_t block = block_of(levels, largest, width, spec);
  for (std::int64_t i = 0; i < along_z * along_x; ++i) {
    const StackPart part{piece(out.z, along_z, i / along_x), piece(out.x, along_x, i % along_x)};
    chunk.parts.push_back(flow_of(levels, part, width, block));
  }
  return chunk;
}

std::int64_t floats_of(const StackChunk& chunk) {
  std::int64_t floats = 0;
  for (const PartFlow& part : chunk.parts) floats = std::max(floats, part.floats);
  return floats;
}

double cycles_of(const StackChunk& chunk, const DeviceSpec& spec) {
  double slowest = 0;
  for (const PartFlow& part : chunk.parts) slowest = std::max(slowest, cycles_of(part, spec));
  const std::int64_t tasks = mul(chunk.blocks, static_cast<std::int64_t>(chunk.parts.size()));
  return slowest * static_cast<double>(div_up(tasks, spec.threads));
}

}  // namespace znni::cpu
