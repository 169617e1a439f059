#include "proto/convert/text/node_names.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "proto/convert/base/errors.hpp"

namespace znni {
namespace {

// Operations whose nodes are called by another word than the field of their message.
constexpr std::pair<std::string_view, std::string_view> shared_stems[] = {{"max_pool", "pool"},
                                                                          {"average_pool", "pool"},
                                                                          {"activate", "activation"},
                                                                          {"log_softmax", "softmax"},
                                                                          {"scale_shift", "scale"},
                                                                          {"channel_norm", "norm"},
                                                                          {"global_average_pool", "global"},
                                                                          {"global_max_pool", "global"}};

std::string stem_of(text::Node::OpCase operation) {
  if (operation == text::Node::OP_NOT_SET) return "node";
  const std::string field(text::Node::descriptor()->FindFieldByNumber(operation)->name());
  const auto* const shared = std::find_if(std::begin(shared_stems), std::end(shared_stems),
                                          [&](const auto& stem) { return stem.first == field; });
  return shared == std::end(shared_stems) ? field : std::string(shared->second);
}

}  // namespace

std::string NodeNames::name_of(const text::Node& node) {
  const std::string stem = stem_of(node.op_case());
  const int number = ++counts_[stem];
  return node.has_name() ? node.name() : stem + std::to_string(number);
}

Result<std::vector<int>> NodeNames::inputs_of(const text::Node& node) const {
  if (node.inputs().empty()) return std::vector<int>{static_cast<int>(values_.size()) - 1};
  std::vector<int> inputs;
  for (const std::string& name : node.inputs()) {
    const auto found = values_.find(name);
    if (found == values_.end()) {
      return corrupt("reads " + in_quotes(name) + ", which is neither an earlier node nor the input");
    }
    inputs.push_back(found->second);
  }
  return inputs;
}

bool NodeNames::add(const std::string& name) { return values_.emplace(name, static_cast<int>(values_.size())).second; }

}  // namespace znni
