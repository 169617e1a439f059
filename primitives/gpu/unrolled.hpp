// Loops whose index is a constant in every turn: arrays that they index stay in registers.
#pragma once

#include <type_traits>
#include <utility>

namespace znni::cuda {

// Calls f(i) for every i in [0, count), each with a constant i.
template <class Function, int... i>
constexpr void each_of(const Function& f, std::integer_sequence<int, i...>) {
  (f(std::integral_constant<int, i>()), ...);
}
template <int count, class Function>
constexpr void unrolled(const Function& f) {
  each_of(f, std::make_integer_sequence<int, count>());
}

}  // namespace znni::cuda
