#include "primitives/cpu/fft_tiled/tile_memory.hpp"

#include <algorithm>

#include "primitives/cpu/device/estimates.hpp"

namespace znni::cpu::fft_tiled {

TileByteModel::TileByteModel(const Tiling& t, const TileKernels& kernels, int workers)
    : workers_(workers),
      in_(split_channels(t.problem.in.f, t.lanes, t.packs)),
      out_(split_channels(t.problem.f_out, t.lanes, t.packs)),
      group_(t.group()),
      packs_(t.packs),
      tiles_z_(t.tiles().z),
      frequencies_z_(t.T.z),
      planes_((tiles_z_ - 1) * t.m().z + t.T.z),
      columns_(t.columns()),
      block_step_(t.block_step()),
      stack_step_(std::max(in_.blocks, out_.blocks) * block_step_),
      group_step_(std::max(in_.units, out_.units) * block_step_),
      plane_floats_(fft_tiled::plane_floats(t)),
      line_floats_(t.T.x * t.lanes),
      three_products_(product_scratch(t, kernels, Products::three)),
      four_products_(product_scratch(t, kernels, Products::four)),
      spectra_floats_(spectra_scratch(t)),
      kernel_spectra_(float_bytes(mul(columns_, kernel_column_floats(t)))),
      bias_(float_bytes(bias_floats(t))) {}

std::int64_t TileByteModel::tile_spectra(std::int64_t stacks_per_batch, std::int64_t slots) const {
  const std::int64_t units = packs_ ? mul(div_up(stacks_per_batch, group_), group_step_) : 0;
  const std::int64_t column_step = add(mul(planes_, add(mul(stacks_per_batch, stack_step_), units)), block_step_);
  return float_bytes(mul(slots, mul(columns_, column_step)));
}

std::int64_t TileByteModel::scratch(std::int64_t stacks_per_batch, Products products, bool keep_spectra) const {
  const auto transforms_of = [&](ChannelSplit split) {
    return packs_ ? transforms_of_group(split, group_) : transforms_at_once(split.blocks, stacks_per_batch);
  };
  const std::int64_t transforms = std::max(transforms_of(in_), transforms_of(out_));
  const std::int64_t plane = transform_floats(transforms, plane_floats_, line_floats_, std::max(in_.units, out_.units));
  const std::int64_t rows = column_rows(round_up(stacks_per_batch, group_) * tiles_z_);
  const std::int64_t frequency =
      packs_ ? packed_frequency_floats(rows, group_, stack_step_, group_step_, block_step_) : mul(rows, stack_step_);
  const std::int64_t column =
      add(mul(frequencies_z_, frequency), products == Products::three ? three_products_ : four_products_);
  const std::int64_t floats = std::max({plane, column, keep_spectra ? 0 : spectra_floats_});
  return mul(workers_, round_up(float_bytes(floats), buffer_alignment));
}

TileBytes TileByteModel::bytes(std::int64_t stacks_per_batch, std::int64_t slots, Products products,
                               bool keep_spectra) const {
  TileBytes bytes{bias_, add(tile_spectra(stacks_per_batch, slots), scratch(stacks_per_batch, products, keep_spectra))};
  std::int64_t& holder = keep_spectra ? bytes.persistent : bytes.scratch;
  holder = add(holder, kernel_spectra_);
  return bytes;
}

MemoryPlan tile_memory(const ConvProblem& problem, const TilePlan& plan, const TileKernels& kernels, int workers,
                       Format in, Format out) {
  MemoryPlan memory = input_output_buffers(problem, in, out);
  memory.reserve(memory.size() + 4);
  const auto declare = [&](std::string_view name, std::int64_t bytes, Lifetime lifetime) {
    memory.push_back({std::string(name), MemorySpace::host, bytes, lifetime});
  };
  const Lifetime run = Lifetime::stages(0, 0);
  const TileByteModel bytes(plan.tiling, kernels, workers);
  const std::int64_t stacks = plan.tiling.stacks_per_batch;
  declare(kernel_spectra_name, bytes.kernel_spectra(), plan.keep_spectra ? Lifetime::plan() : run);
  declare(bias_name, bytes.bias(), Lifetime::plan());
  declare(tile_spectra_name, bytes.tile_spectra(stacks, plan.held(workers)), run);
  declare(worker_scratch_name, bytes.scratch(stacks, plan.products, plan.keep_spectra), run);
  return memory;
}

}  // namespace znni::cpu::fft_tiled
