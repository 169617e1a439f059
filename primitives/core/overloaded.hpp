// Joins one function per alternative of a std::variant: std::visit(Overloaded{...}, variant).
#pragma once

namespace znni {

template <class... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <class... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;  // compilers before clang 17 do not deduce it themselves

}  // namespace znni
