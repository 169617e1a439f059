// Takes the place of the file of this name that is for a GPU's compiler: the same functions, by the emulation's matrix
// units.
#pragma once

#include "primitives/gpu/complex_mma.hpp"
#include "tests/cuda_emulation/launch.hpp"
#include "tests/cuda_emulation/warp.hpp"

namespace znni::cuda {

inline void* dynamic_shared() { return cuda_emulation::launched_shared_memory(); }

struct ComplexOperands {
  const LeftFragment* left = nullptr;
  const RightFragment* right = nullptr;
  ProductFragment* product = nullptr;
};

inline void multiply_for_warp(const cuda_emulation::Brought& brought) {
  for (int i = 0; i < complex_terms; ++i) {
    const Term term = complex_term(i);
    std::array<cuda_emulation::MmaRegisters, cuda_emulation::lanes_of_warp> warp{};
    for (std::size_t lane = 0; lane < warp.size(); ++lane) {
      const auto& own = *static_cast<const ComplexOperands*>(brought[lane]);
      warp[lane] = {own.left->part[term.left], own.right->part[term.right], own.product->part[term.sum]};
    }
    cuda_emulation::mma_m16n8k8(warp);
  }
}

inline ProductFragment multiply(const LeftFragment& left, const RightFragment& right,
                                const std::source_location& at = std::source_location::current()) {
  ProductFragment product = {};
  ComplexOperands own{&left, &right, &product};
  cuda_emulation::meet_in_warp(&own, multiply_for_warp, at);
  return product;
}

}  // namespace znni::cuda
