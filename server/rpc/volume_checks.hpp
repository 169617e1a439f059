// Whether the header of a Volumes stream makes sense for a model. Pure; errors name model, found, expected.
#pragma once

#include "primitives/core/result.hpp"
#include "proto/volumes.pb.h"
#include "server/jobs/model_server.hpp"

namespace znni::rpc {

struct VolumeHead {
  VolumeShape volume;  // plane_major
  ElementType output_type = ElementType::f32;
  bool normalised = false;  // by the client
  int priority = 0;         // 1 goes first; 0: as usual
};

// Extents are compared with the field of view by ModelServer::outlook().
[[nodiscard]] Result<VolumeHead> check_volume_header(const v1::VolumeHeader& header, const ModelInfo& model);

}  // namespace znni::rpc
