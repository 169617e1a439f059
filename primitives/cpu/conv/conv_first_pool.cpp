// cpu.conv.first_pool: convolution of few channels with the max pooling behind it, fragments (MPF) or plain, both in a
// worker's own cache. It uses FFT of the planes of tiles, or the direct algorithm. The tensor between the two, the
// largest of many nets, is neither written nor held. A tile's blocks of channels are computed one after the other, a
// few planes at a time, and pooled. Bias and activation come after that, because they do not change which value is the
// largest.
#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "primitives/core/fragments.hpp"
#include "primitives/cpu/device/estimates.hpp"
#include "primitives/cpu/fft_tiled/direct_taps.hpp"
#include "primitives/cpu/fft_tiled/plane_choice.hpp"
#include "primitives/cpu/fft_tiled/pooled_tiles.hpp"
#include "primitives/cpu/fft_tiled/tile_memory.hpp"
#include "primitives/cpu/pool/pool_layer.hpp"
#include "primitives/cpu/pool/pool_pairs.hpp"
#include "primitives/cpu/pool/pool_voxels.hpp"
#include "primitives/cpu/vectors/activate.hpp"

namespace znni::cpu {
namespace {

using namespace fft_tiled;

constexpr std::string_view first_pool_name = "cpu.conv.first_pool";

class FirstPool final : public PreparedLayer {
 public:
  FirstPool(const PooledTiling& tiling, const TileKernels& kernels, Device& device)
      : tiling_(tiling),
        kernels_(kernels),
        offsets_(pooled_offsets(tiling.pool)),
        activation_(tiling.conv.problem.activation),
        activates_apart_(activation_.kind != ActivationKind::none && activation_.kind != ActivationKind::relu),
        held_(planes_held(tiling, kernels)),
        scratch_(pooled_scratch(tiling, kernels)),
        cache_bytes_(device.spec().l3_bytes),
        executor_(device.executor()) {}

  void keep(const LayerWeights& weights, std::span<float> spectra, std::span<float> bias) {
    spectra_ = spectra;
    bias_ = bias;
    if (!tiling_.direct) return keep_plane_spectra(tiling_.conv, kernels_, weights, spectra, bias);
    copy_padded(weights.bias, bias);
    pack_taps(tiling_.conv, weights.kernels, spectra);
    taps_.resize(static_cast<std::size_t>(tap_count(tiling_.conv.problem)));
  }

  Result<void> run(std::span<const TensorView> inputs, const TensorView& out, Arena& arena) override {
    const std::span<float> scratch = arena.grant_as<float>(worker_scratch_name);
    if (tiling_.direct) place_taps(tiling_.conv.problem, inputs[0], taps_);
    executor_.parallel_for(tile_count(tiling_), [&](std::int64_t index, int worker) {
      run_tile(inputs[0], out, tile_at(tiling_, index), scratch.data() + worker * scratch_.floats());
    });
    return {};
  }

 private:
  // Some planes of one block: those of the windows from `first` on.
  struct Turn {
    std::int64_t block;
    std::int64_t first;
    std::int64_t positions;
    TensorView planes;  // the first one is the plane at which the windows of `first` begin
  };

  void run_tile(const TensorView& in, const TensorView& out, const PooledTile& at, float* scratch) const {
    const Tiling& t = tiling_.conv;
    const Vec3 corner = tiling_.pool.stride * at.first;
    const TileTask task{&t,       &in,    nullptr, nullptr, spectra_.data(), nullptr, {at.s, corner.y, corner.x},
                        corner.z, scratch};
    if (!tiling_.direct) kernels_.tile_forward(task);
    for (std::int64_t block = 0; block < t.out_blocks(); ++block) {
      bool is_back = false;
      for (std::int64_t first = 0; first < at.count.z; first += held_.positions, is_back = !is_back) {
        const std::int64_t positions = std::min(held_.positions, at.count.z - first);
        const Turn turn{block, first, positions, held_planes(at, scratch + scratch_.tile, is_back)};
        compute(task, turn);
        pool(out, at, turn);
      }
    }
    finish_pooling();
  }

  // Returns the planes of a turn. One turn fills the held planes from one end to the other, the next one back. It thus
  // begins with the planes with which the last turn ended, which its windows read again.
  [[nodiscard]] TensorView held_planes(const PooledTile& at, float* memory, bool is_back) const {
    const std::int64_t lanes = tiling_.conv.lanes;
    const Vec3 read = tiling_.read_by(at.count);
    const std::int64_t step = held_plane_floats(tiling_);
    TensorView planes;
    planes.data = memory + (is_back ? (held_.held - 1) * step : 0);
    planes.shape = {1, lanes, {held_.held, read.y, read.x}};
    planes.format = {ElementType::f32, lanes == 16 ? Layout::blocked16 : Layout::blocked8};
    planes.strides = {0, 0, is_back ? -step : step, held_row_floats(tiling_), lanes};
    return planes;
  }

  void compute(const TileTask& task, const Turn& turn) const {
    const std::int64_t there = turn.first == 0 ? 0 : held_.again;
    const std::int64_t stride = tiling_.pool.stride.z;
    TensorView to = turn.planes;
    to.data += there * to.strides.z;
    const BlockTask block{&task, &to, turn.block, turn.first * stride + there,
                          turn.positions * stride + held_.again - there};
    if (tiling_.direct) return sum_taps(block);
    kernels_.tile_block(block);
  }

  void sum_taps(const BlockTask& block) const {
    const TileTask& tile = *block.tile;
    const std::int64_t lanes = tiling_.conv.lanes;
    Tiling one = tiling_.conv;  // as if there were no other channels
    one.problem.f_out = std::min(lanes, one.problem.f_out - block.block * lanes);
    TensorView in = *tile.in;
    in.data = &in.at(tile.stack.s, 0, {tile.z + block.first, tile.stack.y, tile.stack.x});
    const auto taps = static_cast<std::int64_t>(taps_.size());
    for (std::int64_t z = 0; z < block.planes; ++z) {
      kernels_.rows({&one, &in, block.out, nullptr, taps_.data(), taps, tile.spectra + block.block * taps * lanes,
                     nullptr, 0, z, 0, block.out->shape.n.y, tile.scratch});
    }
  }

  void pool(const TensorView& out, const PooledTile& at, const Turn& turn) const {
    const std::int64_t lanes = tiling_.conv.lanes;
    std::array<float*, 8> to{};
    PairedPlane plane;
    plane.step_z = turn.planes.strides.z;
    plane.step_y = turn.planes.strides.y;
    plane.window_z = tiling_.pool.window.z;
    plane.offsets = offsets_;
    plane.rows = at.count.y;
    plane.positions = at.count.x;
    plane.out = to.data();
    plane.out_step_y = out.strides.y;
    plane.bias = bias_.data() + turn.block * lanes;
    plane.least = activation_.kind == ActivationKind::relu ? 0.0F : -std::numeric_limits<float>::infinity();
    for (std::int64_t z = 0; z < turn.positions; ++z) {
      for (std::int64_t i = 0; i < voxels(offsets_); ++i) {
        const std::int64_t s = pooled_input(tiling_.pool, at.s, fragment_at(i, offsets_));
        to[static_cast<std::size_t>(i)] = &out.at(s, turn.block * lanes, at.first + Vec3{turn.first + z, 0, 0});
      }
      plane.in = turn.planes.data + z * tiling_.pool.stride.z * turn.planes.strides.z;
      const auto rows = std::span(to).first(static_cast<std::size_t>(voxels(offsets_)));
      plane.past_caches = !activates_apart_ && goes_past_caches(out, rows, cache_bytes_);
      pool_pairs(lanes, plane);
      if (activates_apart_) activate_rows(rows, turn.block, plane);
    }
  }

  void activate_rows(std::span<float* const> rows, std::int64_t block, const PairedPlane& plane) const {
    const std::int64_t lanes = tiling_.conv.lanes;
    for (float* const first : rows) {
      for (std::int64_t y = 0; y < plane.rows; ++y) {
        const std::span row(first + y * plane.out_step_y, static_cast<std::size_t>(plane.positions * lanes));
        activate(activation_, row);
        clear_lanes(row, tiling_.conv.problem.f_out - block * lanes, lanes);
      }
    }
  }

  PooledTiling tiling_;
  const TileKernels& kernels_;
  Vec3 offsets_;
  Activation activation_;
  bool activates_apart_;  // true for activations that the pooling cannot apply by a comparison
  PooledPlanes held_;
  PooledScratch scratch_;
  std::int64_t cache_bytes_;
  Executor& executor_;
  std::span<float> spectra_;  // or packed taps
  std::span<float> bias_;
  std::vector<std::int64_t> taps_;
};

// Returns the problem if it is a convolution of few channels with a max pooling of pairs behind it; nullptr otherwise.
const ConvPoolProblem* with_pairs(const LayerProblem& problem) {
  const auto* both = std::get_if<ConvPoolProblem>(&problem);
  const bool has_pairs = both != nullptr && both->conv.in.f <= max_plane_inputs && is_of_pairs(both->pool);
  return has_pairs ? both : nullptr;
}

Result<void> check_windows(const LayerProblem& problem) {
  const ConvPoolProblem* both = with_pairs(problem);
  if (both == nullptr) {
    return refusal(first_pool_name, "convolutions of up to 8 channels with a max pooling of pairs behind them",
                   problem);
  }
  if (both->conv.dilation != Vec3::cube(1)) return refusal(first_pool_name, "convolutions without dilation", problem);
  if (!is_plain(both->conv)) return refusal(first_pool_name, "convolutions without stride or groups", problem);
  if (both->conv.local) return refusal(first_pool_name, "convolutions of finite voxels", problem);
  if (may_fall(both->conv.activation)) return refusal(first_pool_name, "activations that never fall", problem);
  const Vec3 longest = Vec3::cube(tile_extents().back());
  if (!covers(longest - both->pool.window - pooled_offsets(both->pool) + Vec3::cube(2), both->conv.k) ||
      both->conv.f_out > max_plane_channels) {
    return refusal(first_pool_name, "tiles of up to 48 voxels per axis, that hold a window, of up to 65536 channels",
                   problem);
  }
  return {};
}

Result<std::vector<Estimate>> describe_first_pool(const LayerProblem& problem, const DeviceSpec& spec) {
  if (Result<void> windows = check_windows(problem); !windows) return windows.error();
  const TileKernels* kernels = tile_kernels(spec.simd_floats);
  if (kernels == nullptr) return no_tile_kernels(first_pool_name, spec.simd_floats);
  std::vector<Estimate> estimates;
  for (const PooledTiling& tiling : pooled_tilings(std::get<ConvPoolProblem>(problem), *kernels, spec)) {
    estimates.push_back(pooled_estimate(tiling, *kernels, spec));
  }
  return estimates;
}

Seconds min_first_pool_time(const LayerProblem& problem, const DeviceSpec& spec) {
  const TileKernels* kernels = tile_kernels(spec.simd_floats);
  const ConvPoolProblem* both = with_pairs(problem);
  const bool is_computed = both != nullptr && kernels != nullptr && check_windows(problem).has_value();
  if (!is_computed) return std::numeric_limits<Seconds>::infinity();
  return min_pooled_seconds(*both, kernels->lanes, spec);
}

Result<std::unique_ptr<PreparedLayer>> prepare_first_pool(const LayerProblem& problem, const Estimate& chosen,
                                                          const LayerWeights& weights, Arena& persistent,
                                                          Device& device) {
  const TileKernels* kernels = tile_kernels(device.spec().simd_floats);
  ensure(kernels != nullptr, "describe() refuses vectors that are not built");
  const PooledTiling tiling = pooled_tiling(std::get<ConvPoolProblem>(problem), kernels->lanes, chosen.variant);
  auto layer = std::make_unique<FirstPool>(tiling, *kernels, device);
  layer->keep(weights, persistent.grant_as<float>(kernel_spectra_name), persistent.grant_as<float>(bias_name));
  return std::unique_ptr<PreparedLayer>(std::move(layer));
}

}  // namespace

extern const Primitive conv_first_pool;
constinit const Primitive conv_first_pool{
    first_pool_name, 1, DeviceKind::cpu, &describe_first_pool, &prepare_first_pool, &min_first_pool_time};

}  // namespace znni::cpu
