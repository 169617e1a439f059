// The parameters of a ModelInfer request. Unknown ones are tolerated, except those that the protocol's
// extensions reserve ("triton_..."): a server must refuse what it does not understand there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "primitives/core/result.hpp"
#include "primitives/core/tensor.hpp"
#include "proto/inference.pb.h"
#include "server/rpc/base/shared_regions.hpp"

namespace znni::rpc {

using ParameterMap = google::protobuf::Map<std::string, inference::InferParameter>;

struct RequestParameters {
  ElementType output_type = ElementType::f32;  // output_datatype
  std::int64_t timeout_us = 0;                 // longest wait in the queue; 0: none
  int priority = 0;                            // 1 goes first; 0: as usual
};

// Checks the parameters of the request itself: output_datatype (string), timeout (microseconds, integer >= 0), priority
// (integer >= 0), triton_enable_empty_final_response (bool, ignored).
[[nodiscard]] Result<RequestParameters> check_request_parameters(const ParameterMap& parameters);

// Checks the parameters of one input or requested output, named by `where` ("input 'raw'"). Returns the part of a
// shared memory region that holds its data, if one does. Classification is an extension we do not offer: unsupported.
[[nodiscard]] Result<std::optional<RegionRange>> check_tensor_parameters(const ParameterMap& parameters,
                                                                         const std::string& where);

}  // namespace znni::rpc
