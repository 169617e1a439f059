#include <array>
#include <cstdio>
#include <string_view>

#include "planner/network/network.hpp"
#include "planner/network/operations/all.hpp"
#include "primitives/core/index.hpp"

namespace znni {
namespace {

// Returns the name of a value. The frame is part of the input's name, so that networks that differ in it alone are told
// apart.
std::string value_name(const Network& network, int value) {
  if (value > 0) return network.nodes[index(value - 1)].name;
  const Border& frame = network.frame;
  if (frame == Border{}) return network.input_name;
  return network.input_name + " framed by " + to_string(frame.begin) + " and " + to_string(frame.end) + " zeros";
}

std::string_view outside_text(OutsideKind kind) {
  static constexpr std::array<std::string_view, 4> words = {" zero", " -infinity", " as at the border",
                                                            " as reflected at the border"};
  return words[static_cast<std::size_t>(kind)];
}

std::string border_text(const Node& node) {
  if (node.outside == Border{}) return "";
  return ", outside " + to_string(node.outside.begin) + " and " + to_string(node.outside.end) +
         std::string(outside_text(node.outside_kind));
}

std::string operation_text(const Node& node, std::int64_t f) {
  const bool residual = node.inputs.size() == 2;
  return by_rules(node.operation, [&](const auto& rules, const auto& own) { return rules.text(own, f, residual); });
}

}  // namespace

std::string epsilon_text(float epsilon) {
  if (epsilon == Norm{}.epsilon) return "";
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), ", epsilon %.9g", static_cast<double>(epsilon));
  return text.data();
}

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
