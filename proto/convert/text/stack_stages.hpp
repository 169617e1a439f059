// The stages of a stack in a network's text (proto/network.proto).
#pragma once

#include "planner/network/network.hpp"
#include "proto/network.pb.h"

namespace znni {

// Returns a stage of a network of `rank` spatial axes. Fails if it has no operation, or a pooling that is none of a
// stack; its own numbers are not checked.
[[nodiscard]] Result<StackStage> stage_of(const text::StackStage& stage, int rank);

// Writes a stage into the fields that stage_of() reads.
void set_stage(text::StackStage& written, const StackStage& stage, int rank);

}  // namespace znni
