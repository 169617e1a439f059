#include <algorithm>
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

namespace {

// Returns the length of the shortest list of stages that, repeated, is all of them.
std::size_t repeated_stages(const std::vector<StackStage>& stages) {
  for (std::size_t length = 1; length < stages.size(); ++length) {
    const auto behind = stages.begin() + static_cast<std::ptrdiff_t>(length);
    if (stages.size() % length == 0 && std::equal(behind, stages.end(), stages.begin())) return length;
  }
  return stages.size();
}

std::string text_of(const StackStage& stage) {
  if (stage.operation == StackOperation::scale_shift) return "scale and shift";
  if (stage.operation == StackOperation::activation) return activation_text(stage.activation).substr(2);
  std::string text = std::string(pooling_words(stage.kind)) + " " + to_string(stage.window);
  if (stage.before == Vec3{} && stage.behind == Vec3{}) return text;
  return text + " padded " + to_string(stage.before) + " " + to_string(stage.behind);
}

}  // namespace

std::string stages_text(const std::vector<StackStage>& stages) {
  const std::size_t length = repeated_stages(stages);
  std::string text;
  for (std::size_t i = 0; i < length; ++i) text += (i == 0 ? "" : ", ") + text_of(stages[i]);
  if (length == stages.size()) return text;
  return std::to_string(stages.size() / length) + " x (" + text + ")";
}

std::vector<std::string> describe(const Network& network) {
  const std::vector<std::int64_t> f = channels_of(network);
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
