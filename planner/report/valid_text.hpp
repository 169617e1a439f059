// The answer of `planner check --make-valid`: what becomes of a network that pads without its padding.
#pragma once

#include <optional>
#include <string>

#include "planner/network/made_valid.hpp"

namespace znni {

struct ValidAnswer {
  std::string file;            // of the padded network
  std::string written;         // the file of the valid one; "": none is written
  std::string refusal;         // why it cannot be; "": it can
  std::optional<Vec3> volume;  // for which extents of outputs are told
};

// Return the answer: as lines for people, of what changes node by node and of what the valid network is, or as JSON
// with the same facts. `padded`: the network of the file.
[[nodiscard]] std::string valid_text(const ValidAnswer& answer, const Network& padded, const MadeValid& made);
[[nodiscard]] std::string valid_json(const ValidAnswer& answer, const Network& padded, const MadeValid& made);

}  // namespace znni
