#include "primitives/gpu/stack_view.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "primitives/gpu/views.hpp"

namespace znni::cuda {
namespace {

// Bytes of a block's memory that every device has; three blocks of an H200's multiprocessor have as much.
constexpr int max_shared_bytes = 64 << 10;
constexpr int max_buffer = max_shared_bytes / 2 / static_cast<int>(sizeof(float));
constexpr int last_channels = 8;  // 32 bytes of floats that lie beside each other
// Distance from the border of a value whose tensor has inside voxels alone.
constexpr std::int64_t far_inside = std::int64_t{1} << 40;

// A pooling (a window of 1 where there is none), and the stages that follow it: [first, last).
struct Link {
  StackStage pool;
  std::size_t first = 0;
  std::size_t last = 0;
  std::int64_t scaled = 0;  // stages before it that scale and shift
  int points = 0;
};

bool begins_point(const StackProblem& stack, std::size_t stage, std::size_t first) {
  const StackStage& own = stack.stages[stage];
  if (own.operation == StackOperation::scale_shift || stage == first) return true;
  return stack.stages[stage - 1].operation != StackOperation::scale_shift;
}

std::vector<Link> links_of(const StackProblem& stack) {
  std::vector<Link> links;
  std::int64_t scaled = 0;
  for (std::size_t i = 0; i < stack.stages.size(); ++i) {
    const StackStage& stage = stack.stages[i];
    if (stage.operation == StackOperation::pool) {
      links.push_back({stage, i + 1, i + 1, scaled});
      continue;
    }
    const bool is_full = !links.empty() && links.back().points == max_stack_points;
    if (links.empty() || (is_full && begins_point(stack, i, links.back().first))) {
      links.push_back({StackStage{}, i, i, scaled});
    }
    if (begins_point(stack, i, links.back().first)) ++links.back().points;
    if (stage.operation == StackOperation::scale_shift) ++scaled;
    links.back().last = i + 1;
  }
  return links;
}

Extent halo_of(std::span<const Link> links) {
  Extent halo{0, 0, 0};
  for (const Link& link : links) halo = moved_by(halo, extent_of(link.pool.window - Vec3::cube(1)));
  return halo;
}

// Returns the largest of 1, 2, 4, ... up to `most` that covers no more than n, or the least that covers n.
std::vector<Index> sizes_up_to(Index most, Index n) {
  std::vector<Index> sizes;
  for (Index size = 1; size <= most; size *= 2) {
    sizes.push_back(std::min(size, n));
    if (size >= n) break;
  }
  return sizes;
}

// Returns the tile that loads least for what it makes; none if no tile fits a block's memory.
std::optional<Extent> best_tile(std::span<const Link> links, Extent out, int channels) {
  const Extent halo = halo_of(links);
  std::optional<Extent> best;
  double least = 0;
  for (const Index z : sizes_up_to(16, out.z)) {
    for (const Index y : sizes_up_to(16, out.y)) {
      for (const Index x : sizes_up_to(channels == 1 ? 64 : 8, out.x)) {
        const Extent tile{z, y, x};
        const auto loaded = static_cast<double>(voxels_of(moved_by(tile, halo)));
        if (loaded * channels > max_buffer) continue;
        const double share = loaded / static_cast<double>(voxels_of(tile));
        if (best && share >= least) continue;
        best = tile;
        least = share;
      }
    }
  }
  return best;
}

StackChunk chunk_of(const StackProblem& stack, std::span<const Link> links, int first, int count, Shape5 in) {
  StackChunk chunk{first, count, in, in, {}, 1, 0};
  for (int i = first; i < first + count; ++i) {
    chunk.out.n = extent_behind(links[static_cast<std::size_t>(i)].pool, stack.closed, chunk.out.n);
  }
  return chunk;
}

StackPoint& point_for(StackLink& link, const StackProblem& stack, std::size_t stage, std::size_t first) {
  if (begins_point(stack, stage, first)) ++link.points;
  return link.point[link.points - 1];
}

// Sets the points of a link.
void set_points(StackLink& to, const StackProblem& stack, const Link& link, const StackWeights& weights) {
  std::int64_t scaled = link.scaled;
  for (std::size_t i = link.first; i < link.last; ++i) {
    StackPoint& point = point_for(to, stack, i, link.first);
    if (stack.stages[i].operation == StackOperation::activation) {
      point.act = act_of(stack.stages[i].activation.kind);
      point.alpha = stack.stages[i].activation.alpha;
      continue;
    }
    point.scale = weights.scale == nullptr ? nullptr : weights.scale + scaled * stack.in.f;
    point.shift = weights.shift == nullptr ? nullptr : weights.shift + scaled * stack.in.f;
    ++scaled;
  }
}

// Follows where a value lies from stage to stage.
struct Placed {
  Vec3 n;
  Vec3 moved;
  Vec3 whole;

  [[nodiscard]] StackPlace place() const { return {extent_of(n), extent_of(moved), extent_of(whole)}; }
  void pass(const StackStage& pool, Vec3 closed) {
    n = extent_behind(pool, closed, n);
    moved = moved + (Vec3::cube(1) - closed) * pool.before;
    whole = whole_behind(pool, whole);
  }
};

Placed placed_input(const StackProblem& stack, const StackStarts& placed) {
  Placed in{stack.in.n, {}, placed.whole};
  if (!placed.starts.empty()) return in;
  const Vec3 open = Vec3::cube(1) - stack.closed;
  in.whole = stack.closed * stack.in.n + open * Vec3::cube(3 * far_inside);
  return in;
}

}  // namespace

int stack_links(const StackProblem& stack) { return static_cast<int>(links_of(stack).size()); }

std::vector<StackChunk> stack_chunks(const StackProblem& stack, int depth, Layout layout) {
  const std::vector<Link> links = links_of(stack);
  const auto all = static_cast<int>(links.size());
  std::vector<StackChunk> chunks;
  Shape5 shape = stack.in;
  for (int first = 0; first < all; first += depth) {
    StackChunk chunk = chunk_of(stack, links, first, std::min(depth, all - first), shape);
    shape = chunk.out;
    chunk.channels = layout == Layout::planar ? 1 : static_cast<int>(std::min<std::int64_t>(last_channels, shape.f));
    const std::span<const Link> own =
        std::span(links).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(chunk.count));
    const std::optional<Extent> tile = best_tile(own, extent_of(shape.n), chunk.channels);
    if (!tile && depth > 1) return {};
    const Extent any{std::min<Index>(4, shape.n.z), std::min<Index>(4, shape.n.y), std::min<Index>(32, shape.n.x)};
    chunk.tile = tile.value_or(any);
    if (tile) chunk.buffer = static_cast<int>(voxels_of(moved_by(*tile, halo_of(own)))) * chunk.channels;
    chunks.push_back(chunk);
  }
  return chunks;
}

int shared_bytes(const StackChunk& chunk) { return 2 * chunk.buffer * static_cast<int>(sizeof(float)); }

double stack_accesses(const StackProblem& stack, const StackChunk& chunk) {
  StackArg arg = stack_arg(stack, chunk, {}, {}, 0);
  arg.S = 1;
  const StackTile tile = stack_tile(arg, 0);
  const auto tiles = static_cast<double>(stack_tiles(arg)) * static_cast<double>(stack.in.S);
  if (chunk.buffer == 0) {
    return tiles * static_cast<double>(region_elements(tile, tile.region.n) * voxels_of(arg.link[0].window));
  }
  StackRegion region = loaded_region(arg, tile);
  auto accesses = 2.0 * region_elements(tile, region.n);
  for (int i = 0; i < arg.links; ++i) {
    const StackLink& link = arg.link[i];
    for (const int axis : {2, 1, 0}) {
      if (skips(link, axis)) continue;
      const auto written = static_cast<double>(region_elements(tile, reduced(region.n, link, axis)));
      accesses += written * static_cast<double>(along(link.window, axis) + 1);
    }
    region = written_region(link, region);
  }
  return tiles * accesses;
}

StackArg stack_arg(const StackProblem& stack, const StackChunk& chunk, const StackStarts& placed,
                   const StackWeights& weights, std::int64_t first_s) {
  const std::vector<Link> links = links_of(stack);
  const std::int64_t left = stack.in.S - first_s;
  StackArg arg;
  arg.placed_alike = placed.starts.empty();
  arg.S = arg.placed_alike ? left : std::min<std::int64_t>(left, max_stack_starts);
  arg.f = stack.in.f;
  arg.links = chunk.count;
  arg.tile = chunk.tile;
  arg.channels = chunk.channels;
  arg.buffer = chunk.buffer;
  const Vec3 inside = (Vec3::cube(1) - stack.closed) * Vec3::cube(far_inside);
  arg.starts[0] = extent_of(inside);
  for (std::int64_t s = 0; s < arg.S && !arg.placed_alike; ++s) {
    arg.starts[s] = extent_of(placed.starts[static_cast<std::size_t>(first_s + s)]);
  }
  Placed at = placed_input(stack, placed);
  for (int i = 0; i < chunk.first + chunk.count; ++i) {
    const Link& link = links[static_cast<std::size_t>(i)];
    if (i >= chunk.first) {
      StackLink& to = arg.link[i - chunk.first];
      to.window = extent_of(link.pool.window);
      to.shift = extent_of(stack.closed * link.pool.before);
      to.average = link.pool.kind == PoolKind::average;
      if (to.average) to.factor = 1.0F / static_cast<float>(voxels(link.pool.window));
      to.in = at.place();
      set_points(to, stack, link, weights);
    }
    at.pass(link.pool, stack.closed);
  }
  arg.out = at.place();
  return arg;
}

}  // namespace znni::cuda
