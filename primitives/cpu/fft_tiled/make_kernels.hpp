// The table of one instruction set. The file that is compiled for that instruction set includes it.
#pragma once

#include "primitives/cpu/fft_tiled/column.hpp"
#include "primitives/cpu/fft_tiled/direct_rows.hpp"
#include "primitives/cpu/fft_tiled/kernel_spectra.hpp"
#include "primitives/cpu/fft_tiled/narrow_rows.hpp"
#include "primitives/cpu/fft_tiled/packed_planes.hpp"
#include "primitives/cpu/fft_tiled/whole_tile.hpp"

namespace znni::cpu::fft_tiled {

template <class Isa>
constexpr TileKernels make_kernels() {
  return {Isa::lanes,         Isa::gemm_rows,        Isa::gemm_vectors,  packs<Isa>,
          &forward_task<Isa>, &multiply_column<Isa>, &inverse_task<Isa>, &kernel_spectra<Isa>,
          &whole_tile<Isa>,   &forward_tile<Isa>,    &tile_block<Isa>,   &plane_spectra<Isa>,
          &direct_rows<Isa>,  &narrow_rows<Isa>};
}

}  // namespace znni::cpu::fft_tiled
