// Rules of operations over the channels of a voxel.
#pragma once

#include "planner/network/operations/bounds.hpp"
#include "planner/network/operations/rules.hpp"
#include "planner/network/operations/texts.hpp"

namespace znni {

template <>
struct OperationRules<AcrossChannels> : RulesOfOneVoxel<AcrossChannels> {
  static OperationTraits traits(const AcrossChannels& across) {
    switch (across.kind) {
      case AcrossKind::softmax: return {"softmax", "softmax", Origin::voxel, false, std::nullopt, {}};
      case AcrossKind::log_softmax: return {"softmax", "log softmax", Origin::voxel, false, std::nullopt, {}};
      case AcrossKind::arg_max:
      case AcrossKind::arg_max_last: return {"arg_max", "largest channel", Origin::voxel, false, std::nullopt, {}};
      case AcrossKind::norm: return {"channel_norm", "layer normalisation", Origin::voxel, false, std::nullopt, {}};
      case AcrossKind::unit: break;
    }
    return {"channel_norm", "normalisation to unit length", Origin::voxel, false, std::nullopt, {}};
  }

  static Result<void> check(const AcrossChannels& across, int) { return check_norm_epsilon(across.epsilon); }

  static std::int64_t channels(const AcrossChannels& across, const std::vector<int>& read,
                               const std::vector<std::int64_t>& channels) {
    return makes_one_channel(across.kind) ? 1 : channels[index(read.front())];
  }

  static AcrossChannelsProblem problem(const AcrossChannels& across, const NodeInputs& in) {
    return {in.shapes.front(), across.kind, across.epsilon};
  }

  static std::string text(const AcrossChannels& across, std::int64_t f, bool) {
    return std::string(to_string(across.kind)) + " " + std::to_string(f) + epsilon_text(across.epsilon);
  }
};

}  // namespace znni
