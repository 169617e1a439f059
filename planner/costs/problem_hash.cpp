#include "planner/costs/problem_hash.hpp"

#include <bit>
#include <variant>

#include "primitives/core/overloaded.hpp"

namespace znni {
namespace {

std::size_t of(std::size_t seed, std::int64_t value) { return mixed(seed, static_cast<std::size_t>(value)); }
std::size_t of(std::size_t seed, Vec3 v) { return of(of(of(seed, v.z), v.y), v.x); }
std::size_t of(std::size_t seed, const Shape5& shape) { return of(of(of(seed, shape.S), shape.f), shape.n); }
std::size_t of(std::size_t seed, Format format) {
  return of(of(seed, static_cast<std::int64_t>(format.type)), static_cast<std::int64_t>(format.layout));
}
// +0 and -0 are equal.
std::size_t of(std::size_t seed, Activation activation) {
  const float alpha = activation.alpha == 0 ? 0 : activation.alpha;
  return of(of(seed, static_cast<std::int64_t>(activation.kind)), std::bit_cast<std::int32_t>(alpha));
}

std::size_t hash(const ConvProblem& p) {
  const std::size_t shapes = of(of(of(of(0, p.in), p.f_out), p.k), p.dilation);
  const std::size_t strided = is_plain(p) ? shapes : of(of(shapes, p.stride), p.groups);
  return of(of(of(of(strided, p.activation), p.residual ? 1 : 0), p.before.in), p.before.out);
}
std::size_t hash(const PoolProblem& p) {
  const std::size_t shapes = of(of(of(of(of(0, p.in), p.window), p.stride), p.fragments), p.groups);
  return of(of(shapes, static_cast<std::int64_t>(p.kind)), static_cast<std::int64_t>(p.mode));
}
std::size_t hash(const ActivationProblem& p) { return of(of(0, p.in), p.activation); }
std::size_t hash(const AcrossChannelsProblem& p) {
  return of(of(of(0, p.in), static_cast<std::int64_t>(p.kind)), std::bit_cast<std::int32_t>(p.epsilon));
}
std::size_t hash(const ScaleShiftProblem& p) { return of(0, p.in); }
std::size_t hash(const NormProblem& p) {
  return of(of(of(of(0, p.in), p.groups), std::bit_cast<std::int32_t>(p.epsilon)), p.activation);
}
std::size_t hash(const AddProblem& p) { return of(of(of(0, p.in), p.inputs), p.activation); }
std::size_t hash(const MultiplyProblem& p) { return of(of(0, p.in), p.f_other); }
std::size_t hash(const GlobalPoolProblem& p) { return of(of(0, p.in), static_cast<std::int64_t>(p.kind)); }
std::size_t hash(const ConcatProblem& p) {
  std::size_t seed = 0;
  for (const Shape5& shape : p.in) seed = of(seed, shape);
  return seed;
}
std::size_t hash(const ReorderProblem& p) { return of(of(of(0, p.in), p.from), p.to); }
std::size_t hash(const CropProblem& p) { return of(of(of(0, p.in), p.begin), p.end); }
std::size_t hash(const UpsampleProblem& p) { return of(of(of(0, p.in), p.factor), static_cast<std::int64_t>(p.kind)); }
std::size_t hash(const ConvPoolProblem& p) { return mixed(hash(p.conv), hash(p.pool)); }

}  // namespace

std::size_t ProblemHash::operator()(const LayerProblem& problem) const {
  return mixed(std::visit([](const auto& p) { return hash(p); }, problem), problem.index());
}

}  // namespace znni
