// Names of the nodes in a network's text (proto/network.proto).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "primitives/core/result.hpp"
#include "proto/network.pb.h"

namespace znni {

// Maps names to numbers of values, and makes names for nodes that have none.
class NodeNames {
 public:
  explicit NodeNames(const std::string& input) : values_{{input, 0}} {}

  // Returns the node's own name, or one such as "conv3" for the third convolution. Nodes with their own names count,
  // too.
  [[nodiscard]] std::string name_of(const text::Node& node);

  // Returns the values that the node reads: the one before it, if it names none. Fails if it names none that is known.
  [[nodiscard]] Result<std::vector<int>> inputs_of(const text::Node& node) const;

  // Gives the next value a name. Returns false if that is taken.
  [[nodiscard]] bool add(const std::string& name);

 private:
  std::map<std::string, int> values_;
  std::map<std::string, int> counts_;
};

}  // namespace znni
