// Mean and deviation of a whole input volume, for models that want it standardised.
#pragma once

#include "primitives/core/executor.hpp"
#include "server/volume/volume_view.hpp"

namespace znni {

// Returns the normalisation that brings `volume`, first normalised by `before`, to mean 0 and deviation 1 over all
// channels and voxels. A volume of one value only becomes zeros.
[[nodiscard]] Normalisation standardising(const VolumeView& volume, const Normalisation& before, Executor& executor);

}  // namespace znni
