// Layers that can do without a copy of the volume.
#pragma once

#include "primitives/core/primitive.hpp"

namespace znni {

// A layer whose planar inputs and outputs may lie in a volume's own memory. There the strides of channels and planes
// may be in any order, and a view begins at any float. It touches the elements of its views alone, and only reads those
// of its inputs.
class VolumeLayer : public PreparedLayer {};

}  // namespace znni
