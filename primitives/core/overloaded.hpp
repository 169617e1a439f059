// Joins one function per alternative of a std::variant: std::visit(Overloaded{...}, variant).
#pragma once

#include <concepts>

namespace znni {

template <class... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <class... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;  // compilers before clang 17 do not deduce it themselves

// Holds for the types that are listed. A function for several alternatives names each of them,
//   [](const OneOf<Add, Concat> auto&) { ... },
// so that an alternative that comes later does not compile until it is answered.
template <class T, class... Listed>
concept OneOf = (std::same_as<T, Listed> || ...);

}  // namespace znni
