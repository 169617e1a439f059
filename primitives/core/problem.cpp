#include "primitives/core/problem.hpp"

#include <array>
#include <cmath>
#include <cstdio>

namespace znni {
namespace {

// Returns what `ask` returns for the rules of the problem's kind and the problem itself.
template <class Ask>
auto by_rules(const LayerProblem& problem, const Ask& ask) {
  return std::visit([&]<class Own>(const Own& own) { return ask(ProblemRules<Own>(), own); }, problem);
}

}  // namespace

std::string axis_text(const char* name, int axis) { return std::string(name) + "." + "zyx"[axis]; }

Result<void> check_positive(const char* name, Vec3 value) {
  for (int axis = 0; axis < 3; ++axis) {
    if (value[axis] < 1 || value[axis] > (1 << 20)) {
      return invalid_problem(axis_text(name, axis) + " = " + std::to_string(value[axis]) + " is not in [1, 2^20]");
    }
  }
  return {};
}

Result<void> check_covers(Vec3 n, Vec3 window) {
  for (int axis = 0; axis < 3; ++axis) {
    if (n[axis] < window[axis]) {
      return invalid_problem(axis_text("n", axis) + " = " + std::to_string(n[axis]) + " is smaller than the window " +
                             std::to_string(window[axis]));
    }
  }
  return {};
}

Result<void> check_epsilon(float epsilon) {
  if (std::isfinite(epsilon) && epsilon > 0) return {};
  return invalid_problem("epsilon = " + std::to_string(epsilon) + " is not above 0");
}

std::string activation_text(Activation activation) {
  if (activation.kind == ActivationKind::none) return "";
  std::string text = ", " + std::string(to_string(activation.kind));
  if (!takes_alpha(activation.kind)) return text;
  std::array<char, 32> alpha{};
  std::snprintf(alpha.data(), alpha.size(), " %.9g", static_cast<double>(activation.alpha));
  return text + alpha.data();
}

Vec3 upsampling_window(UpsampleKind kind, Vec3 factor) {
  if (kind != UpsampleKind::linear) return Vec3::cube(1);
  return Vec3::cube(1) + min(factor - Vec3::cube(1), Vec3::cube(1)) * Vec3::cube(2);
}

std::int64_t terms_of(const ConvProblem& conv) { return mul(conv.in.f / conv.groups, voxels(conv.k)); }

const ConvProblem* convolution_of(const LayerProblem& problem) {
  return by_rules(problem, [](const auto& rules, const auto& own) { return rules.convolution(own); });
}

bool has_scale(const LayerProblem& problem) {
  return by_rules(problem, [](const auto& rules, const auto& own) { return rules.has_scale(own); });
}

Vec3 window_of(const LayerProblem& problem) {
  return by_rules(problem, [](const auto& rules, const auto& own) { return rules.window(own); });
}

int input_count(const LayerProblem& problem) {
  return by_rules(problem, [](const auto& rules, const auto& own) { return rules.input_count(own); });
}

Shape5 input_shape(const LayerProblem& problem, int index) {
  return by_rules(problem, [&](const auto& rules, const auto& own) { return rules.input(own, index); });
}

Shape5 output_shape(const LayerProblem& problem) {
  return by_rules(problem, [](const auto& rules, const auto& own) { return rules.output(own); });
}

Result<void> check(const LayerProblem& problem) {
  return by_rules(problem, [](const auto& rules, const auto& own) { return rules.check(own); });
}

double direct_flops(const LayerProblem& problem) {
  return by_rules(problem, [](const auto& rules, const auto& own) { return rules.flops(own); });
}

std::string to_string(const LayerProblem& problem) {
  return by_rules(problem, [](const auto& rules, const auto& own) { return rules.text(own); });
}

std::string_view to_string(UpsampleKind kind) {
  static constexpr std::array<std::string_view, 4> names = {"nearest", "shuffle", "linear", "aligned"};
  return names[static_cast<std::size_t>(kind)];
}

std::string_view to_string(AcrossKind kind) {
  static constexpr std::array<std::string_view, 6> names = {"softmax",      "log softmax",  "arg max",
                                                            "arg max last", "channel norm", "unit length"};
  return names[static_cast<std::size_t>(kind)];
}

}  // namespace znni
