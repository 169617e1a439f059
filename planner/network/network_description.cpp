#include <array>
#include <cstdio>
#include <string_view>

#include "planner/network/network.hpp"
#include "primitives/core/index.hpp"
#include "primitives/core/overloaded.hpp"

namespace znni {
namespace {

// The frame is part of the input's name: networks that differ in it alone are told apart.
std::string value_name(const Network& network, int value) {
  if (value > 0) return network.nodes[index(value - 1)].name;
  const Border& frame = network.frame;
  if (frame == Border{}) return network.input_name;
  return network.input_name + " framed by " + to_string(frame.begin) + " and " + to_string(frame.end) + " zeros";
}

std::string_view outside_text(OutsideKind kind) {
  static constexpr std::array<std::string_view, 3> words = {" zero", " -infinity", " as at the border"};
  return words[static_cast<std::size_t>(kind)];
}

std::string border_text(const Node& node) {
  if (node.outside == Border{}) return "";
  return ", outside " + to_string(node.outside.begin) + " and " + to_string(node.outside.end) +
         std::string(outside_text(node.outside_kind));
}

std::string activation_text(Activation activation) {
  if (activation.kind == ActivationKind::none) return "";
  std::string text = ", " + std::string(to_string(activation.kind));
  if (!takes_alpha(activation.kind)) return text;
  std::array<char, 32> alpha{};
  std::snprintf(alpha.data(), alpha.size(), " %.9g", static_cast<double>(activation.alpha));
  return text + alpha.data();
}

std::string epsilon_text(float epsilon) {
  if (epsilon == Norm{}.epsilon) return "";
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), ", epsilon %.9g", static_cast<double>(epsilon));
  return text.data();
}

std::string convolution_text(const Convolution& conv, std::int64_t f, bool residual) {
  std::string text = "conv " + std::to_string(f) + " -> " + std::to_string(conv.f_out) + ", k " + to_string(conv.k);
  if (conv.dilation != Vec3::cube(1)) text += ", dilation " + to_string(conv.dilation);
  if (conv.stride != Vec3::cube(1)) text += ", stride " + to_string(conv.stride);
  if (conv.groups != 1) text += ", groups " + std::to_string(conv.groups);
  if (residual) text += ", residual";
  return text + activation_text(conv.activation);
}

std::string pooling_text(const Pooling& pool, std::int64_t f) {
  return (pool.kind == PoolKind::max ? "max pool " : "average pool ") + std::to_string(f) + ", window " +
         to_string(pool.window) + ", stride " + to_string(pool.stride) + (pool.strided ? ", strided" : "");
}

std::string operation_text(const Node& node, std::int64_t f) {
  const bool residual = node.inputs.size() == 2;
  const std::string f_text = std::to_string(f);
  return std::visit(
      Overloaded{
          [&](const Convolution& conv) { return convolution_text(conv, f, residual); },
          [&](const Pooling& pool) { return pooling_text(pool, f); },
          [&](const Activate& activate) { return "activation " + f_text + activation_text(activate.activation); },
          [&](const AcrossChannels& across) {
            return std::string(to_string(across.kind)) + " " + f_text + epsilon_text(across.epsilon);
          },
          [&](const ScaleShift&) { return "scale and shift " + f_text; },
          [&](const Norm& norm) {
            return "norm " + f_text + ", groups " + std::to_string(norm.groups) + epsilon_text(norm.epsilon) +
                   activation_text(norm.activation);
          },
          [&](const GlobalPool& pool) {
            return std::string(pool.kind == PoolKind::max ? "global max " : "global mean ") + f_text;
          },
          [&](const Multiply&) { return "multiply " + f_text; },
          [&](const Add& sum) { return "add " + f_text + activation_text(sum.activation); },
          [&](const Concat&) { return std::string("concat"); },
          [&](const Upsample& up) {
            return "upsample " + f_text + ", " + std::string(to_string(up.kind)) + ", factor " + to_string(up.factor);
          },
          [&](const Crop& crop) {
            return "crop " + f_text + ", begin " + to_string(crop.begin) + ", end " + to_string(crop.end);
          }},
      node.operation);
}

}  // namespace

std::vector<std::string> describe(const Network& network) {
  const std::vector<std::int64_t> f = images(network);
  std::vector<std::string> lines;
  for (const Node& node : network.nodes) {
    std::string line = node.name + ": " + operation_text(node, f[index(node.inputs.front())]);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      line += (i == 0 ? " <- " : ", ") + value_name(network, node.inputs[i]);
    }
    lines.push_back(line + border_text(node));
  }
  return lines;
}

}  // namespace znni
