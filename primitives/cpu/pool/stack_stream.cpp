#include "primitives/cpu/pool/stack_stream.hpp"

#include <algorithm>
#include <limits>

#include "primitives/cpu/vectors/activate.hpp"

namespace znni::cpu {
namespace {

constexpr float lowest = -std::numeric_limits<float>::infinity();

// Where rows lie that follow each other: `first`, first + step, ...
struct Rows {
  float* first = nullptr;
  std::int64_t step = 0;

  [[nodiscard]] float* at(std::int64_t row) const { return first + row * step; }
};

// A level while its rows are made.
struct Level {
  alignas(64) float scale[stack_lanes];
  alignas(64) float shift[stack_lanes];
  PoolStackRow pool = nullptr;
  StackRow row;                 // rows that come in change of it what they must
  std::int64_t lag_out = 0;     // rows that come in before the first that is made
  const float* from = nullptr;  // the row that comes in
  float* to = nullptr;          // where the level below takes rows; of the last level nullptr
  StackRange steady;            // rows for which all rows before are there, and which make one
  float padding = lowest;       // what padding of its input is
  float* padding_row = nullptr;
  Activation activation;     // what is left of it
  bool is_whole = true;      // every voxel of its output is an own one
  bool has_tail = false;     // its rows have no whole vectors
  bool is_plain = false;     // its rows are what the level below reads, with nothing left to do
  std::vector<Rows> planes;  // of the present plane: the rows of earlier ones
  std::vector<const float*> plane_rows;
  std::vector<const float*> rows;
  Rows plane_to;
  Rows row_ring;             // the earlier rows of the present plane of the output
  std::int64_t ring_at = 0;  // where in it the row that comes in goes
  bool has_plane = false;    // there is a plane of the input
  bool makes_plane = false;  // there is one of the output
  std::int64_t z_out = 0;
};

class Stream {
 public:
  Stream(const PartFlow& flow, const StackBlock& block, const StackKernels& kernels, float* memory)
      : flow_(flow), block_(block), kernels_(kernels), memory_(memory), levels_(flow.levels.size()) {
    const std::int64_t longest = flow.zeros - flow.lowest;
    std::fill_n(memory + flow.lowest, longest, lowest);
    std::fill_n(memory + flow.zeros, longest, 0.0F);
    for (std::size_t i = 0; i < levels_.size(); ++i) begin_level(flow.levels[i], levels_[i], i);
  }

  void run() {
    for (std::int64_t first = 0; first < flow_.y; first += flow_.block) {
      const StackRange rows{first, std::min(first + flow_.block, flow_.y)};
      for (std::int64_t z = flow_.z.begin; z < flow_.z.end; ++z) {
        for (std::size_t i = 0; i < levels_.size(); ++i) begin_plane(flow_.levels[i], levels_[i], rows.begin, z);
        for (std::int64_t y = rows.begin; y < rows.end; ++y) take_row(rows, z, y);
      }
    }
  }

 private:
  void begin_level(const LevelFlow& flow, Level& level, std::size_t index) {
    const StackLevel& own = flow.level;
    const bool sums = own.pool.kind == PoolKind::average;
    level.padding = sums ? 0.0F : lowest;
    level.padding_row = memory_ + (sums ? flow_.zeros : flow_.lowest);
    const float factor = sums ? 1.0F / static_cast<float>(voxels(own.pool.window)) : 1.0F;
    const std::int64_t f = block_.in.shape.f;
    for (std::int64_t lane = 0; lane < stack_lanes; ++lane) {
      const std::int64_t channel = block_.first + (flow_.width == 1 ? 0 : lane);
      const auto at = static_cast<std::size_t>(own.scale * f + channel);
      const bool is_scaled = own.scale >= 0 && channel < f;
      level.scale[lane] = factor * (is_scaled ? block_.scale[at] : 1.0F);
      level.shift[lane] = is_scaled ? block_.shift[at] : 0.0F;
    }
    level.activation = own.activation;
    if (own.activation.kind == ActivationKind::relu) level.activation = {};
    level.is_whole = block_.own[index + 1].begin == Vec3{} && block_.own[index + 1].end == own.out;
    level.planes.resize(static_cast<std::size_t>(own.pool.window.z - 1));
    level.plane_rows.resize(level.planes.size());
    level.rows.resize(static_cast<std::size_t>(own.pool.window.y - 1));
    std::fill_n(memory_ + flow.row, flow.row_floats, level.padding);
    begin_row(flow, level);
  }

  // Sets what all rows of a level have.
  void begin_row(const LevelFlow& flow, Level& level) const {
    StackRow& row = level.row;
    level.pool = kernels_.pool(flow.level.pool.kind, flow.level.pool.window);
    row.step = flow_.width;
    row.window = flow.level.pool.window.x;
    row.planes = level.plane_rows.data();
    row.plane_count = static_cast<std::int64_t>(level.plane_rows.size());
    row.rows = level.rows.data();
    row.row_count = static_cast<std::int64_t>(level.rows.size());
    row.scale = level.scale;
    row.shift = level.shift;
    row.floor = flow.level.activation.kind == ActivationKind::relu ? 0 : lowest;
    row.floats = flow.x_out.length() * flow_.width;
    level.lag_out = row.row_count - flow.level.before().y;
    level.from = memory_ + flow.row;
    const bool is_last = &flow == &flow_.levels.back();
    if (!is_last) level.to = memory_ + (&flow + 1)->row + (&flow + 1)->pad;
    level.steady = {std::max(row.row_count, level.lag_out),
                    std::min(flow.level.in.y, flow.level.out.y + level.lag_out)};
    level.has_tail = row.floats % kernels_.lanes != 0;
    level.is_plain = !is_last && level.activation.kind == ActivationKind::none && level.is_whole && !level.has_tail;
  }

  // Begins plane `tick` of a block of rows from `first` on.
  void begin_plane(const LevelFlow& flow, Level& level, std::int64_t first, std::int64_t tick) const {
    const Vec3 window = flow.level.pool.window;
    const std::int64_t z = tick - flow.lag_z;
    level.z_out = z - (window.z - 1 - flow.level.before().z);
    level.has_plane = flow.z_in.holds(z);
    level.makes_plane = flow.z_out.holds(level.z_out);
    const auto plane = [&](std::int64_t at) {
      return memory_ + flow.planes + at % (window.z - 1) * flow_.block * flow.pitch;
    };
    for (std::size_t i = 0; i < level.planes.size(); ++i) {
      const std::int64_t at = z - (window.z - 1) + static_cast<std::int64_t>(i);
      level.planes[i] = flow.z_in.holds(at) ? Rows{plane(at), flow.pitch} : Rows{level.padding_row, 0};
    }
    level.plane_to = window.z > 1 && level.has_plane ? Rows{plane(z), flow.pitch} : Rows{memory_ + flow_.unused, 0};
    const std::int64_t ring = flow_.in_blocks ? level.z_out - flow.z_out.begin : 0;
    level.row_ring = {memory_ + flow.rows + ring * (window.y - 1) * flow.pitch, flow.pitch};
    if (window.y > 1) level.ring_at = std::max<std::int64_t>(first - flow.lag_y, 0) % (window.y - 1);
  }

  // Takes one row of the input down through the levels. `block`: the rows that come in between two planes.
  void take_row(StackRange block, std::int64_t z, std::int64_t y) {
    if (flow_.is_apart) {
      for (std::size_t i = levels_.size(); i-- > 0;) take_down(i, block, y);
      load_row(block, z, y);
      return;
    }
    load_row(block, z, y);
    for (std::size_t i = 0; i < levels_.size(); ++i) take_down(i, block, y);
  }

  // Takes the row of level i that came in last through it, when row y of the input is the next.
  void take_down(std::size_t i, StackRange block, std::int64_t y) {
    const std::int64_t own = y - flow_.levels[i].lag_y;
    if (own >= 0 && (levels_[i].has_plane || levels_[i].makes_plane)) pass_row(i, own, y - block.begin);
  }

  void load_row(StackRange block, std::int64_t z, std::int64_t y) {
    const LevelFlow& flow = flow_.levels.front();
    if (!levels_.front().has_plane || y >= flow.level.in.y) return;
    const float* const from = &block_.in.at(block_.s, block_.first, {z, y, flow.x_in.begin});
    float* const to = memory_ + flow.row + flow.pad;
    const std::int64_t floats = flow.x_in.length() * flow_.width;
    const bool goes_on = y + 1 < std::min(block.end, flow.level.in.y);
    const float* const ahead =
        goes_on ? from + block_.in.strides.y : from + block_.in.strides.z - (y - block.begin) * block_.in.strides.y;
    for (std::int64_t at = 0; at < floats; at += 16) __builtin_prefetch(ahead + at, 0, 2);
    std::copy_n(from, floats, to);
    mask_row(block_.own[0], {z, y, flow.x_in.begin}, flow.x_in.length(), levels_.front().padding, to);
  }

  // Fills the voxels of a row that are not own ones.
  void mask_row(const StackBox& own, Vec3 at, std::int64_t count, float fill, float* row) const {
    const bool is_inside =
        own.begin.z <= at.z && at.z < own.end.z && own.begin.y <= at.y && at.y < own.end.y && own.begin.x < own.end.x;
    const std::int64_t begin = is_inside ? std::clamp<std::int64_t>(own.begin.x - at.x, 0, count) : count;
    const std::int64_t end = is_inside ? std::clamp<std::int64_t>(own.end.x - at.x, begin, count) : count;
    std::fill_n(row, begin * flow_.width, fill);
    std::fill_n(row + end * flow_.width, (count - end) * flow_.width, fill);
  }

  // Makes what level i makes once row y of its input has come in, or none comes any more. `slot`: y's place in a block.
  void pass_row(std::size_t i, std::int64_t y, std::int64_t slot) {
    const LevelFlow& flow = flow_.levels[i];
    Level& level = levels_[i];
    const std::int64_t y_out = y - level.lag_out;
    const std::int64_t ring_at = level.ring_at;
    if (++level.ring_at >= level.row.row_count) level.ring_at = 0;
    if (level.has_plane && level.makes_plane && level.steady.holds(y)) return pass_steady_row(i, y_out, slot, ring_at);
    const bool has_row = y < flow.level.in.y;
    const bool makes_row = level.makes_plane && y_out >= 0 && y_out < flow.level.out.y;
    if (!has_row && !makes_row) return;
    float* const unused = memory_ + flow_.unused;
    for (std::size_t d = 0; d < level.planes.size(); ++d) {
      level.plane_rows[d] = has_row ? level.planes[d].at(slot) : level.padding_row;
    }
    find_rows(flow, level, y, ring_at);
    StackRow& row = level.row;
    row.from = has_row && level.has_plane ? level.from : level.padding_row;
    row.plane_to = has_row ? level.plane_to.at(slot) : unused;
    row.row_to = has_row && level.makes_plane && row.row_count > 0 ? level.row_ring.at(ring_at) : unused;
    row.out = makes_row ? out_row(i, y_out) : unused;
    level.pool(row);
    if (makes_row) finish_row(i, y_out, row.out);
  }

  // Does so where nothing is lacking.
  void pass_steady_row(std::size_t i, std::int64_t y_out, std::int64_t slot, std::int64_t ring_at) {
    Level& level = levels_[i];
    StackRow& row = level.row;
    for (std::size_t d = 0; d < level.planes.size(); ++d) level.plane_rows[d] = level.planes[d].at(slot);
    std::int64_t at = ring_at;
    for (const float*& before : level.rows) {
      before = level.row_ring.at(at);
      if (++at == row.row_count) at = 0;
    }
    row.from = level.from;
    row.plane_to = level.plane_to.at(slot);
    row.row_to = row.row_count > 0 ? level.row_ring.at(ring_at) : memory_ + flow_.unused;
    row.out = level.to != nullptr ? level.to : out_row(i, y_out);
    level.pool(row);
    if (!level.is_plain) finish_row(i, y_out, row.out);
  }

  // Finds the rows before row y of a level, which goes to place `ring_at`, where the oldest of them is.
  static void find_rows(const LevelFlow& flow, Level& level, std::int64_t y, std::int64_t ring_at) {
    const std::int64_t count = level.row.row_count;
    for (std::int64_t d = 0; d < count; ++d) {
      const std::int64_t before = y - count + d;
      const std::int64_t at = ring_at + d < count ? ring_at + d : ring_at + d - count;
      const bool is_there = level.makes_plane && before >= 0 && before < flow.level.in.y;
      level.rows[static_cast<std::size_t>(d)] = is_there ? level.row_ring.at(at) : level.padding_row;
    }
  }

  [[nodiscard]] float* out_row(std::size_t i, std::int64_t y) const {
    if (levels_[i].to != nullptr) return levels_[i].to;
    if (levels_[i].has_tail) return memory_ + flow_.last_row;
    return &block_.out.at(block_.s, block_.first, {levels_[i].z_out, y, flow_.levels[i].x_out.begin});
  }

  // Does what is left to do with a row of the output of level i.
  void finish_row(std::size_t i, std::int64_t y, float* row) const {
    const LevelFlow& flow = flow_.levels[i];
    const Level& level = levels_[i];
    const bool is_last = i + 1 == levels_.size();
    const std::int64_t floats = flow.x_out.length() * flow_.width;
    if (level.activation.kind != ActivationKind::none) kernels_.activate(level.activation, row, floats);
    const float fill = is_last ? 0.0F : levels_[i + 1].padding;
    const Vec3 at{level.z_out, y, flow.x_out.begin};
    if (!level.is_whole) mask_row(block_.own[i + 1], at, flow.x_out.length(), fill, row);
    if (!is_last) {
      const LevelFlow& next = flow_.levels[i + 1];
      const std::int64_t behind = next.pad + floats;
      if (level.has_tail) std::fill_n(memory_ + next.row + behind, next.row_floats - behind, fill);
      return;
    }
    clear_lanes({row, static_cast<std::size_t>(floats)}, block_.in.shape.f - block_.first, flow_.width);
    if (level.has_tail) std::copy_n(row, floats, &block_.out.at(block_.s, block_.first, at));
  }

  const PartFlow& flow_;
  const StackBlock& block_;
  const StackKernels& kernels_;
  float* memory_;
  std::vector<Level> levels_;
};

}  // namespace

void stream_stack(const PartFlow& flow, const StackBlock& block, const StackKernels& kernels, float* memory) {
  Stream(flow, block, kernels, memory).run();
}

}  // namespace znni::cpu
