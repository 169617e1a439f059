// The rules of every kind of LayerProblem.
#pragma once

#include "primitives/core/problems/across_channels.hpp"
#include "primitives/core/problems/activation.hpp"
#include "primitives/core/problems/add.hpp"
#include "primitives/core/problems/concat.hpp"
#include "primitives/core/problems/conv.hpp"
#include "primitives/core/problems/conv_pool.hpp"
#include "primitives/core/problems/crop.hpp"
#include "primitives/core/problems/global_pool.hpp"
#include "primitives/core/problems/multiply.hpp"
#include "primitives/core/problems/norm.hpp"
#include "primitives/core/problems/pool.hpp"
#include "primitives/core/problems/reorder.hpp"
#include "primitives/core/problems/scale_shift.hpp"
#include "primitives/core/problems/upsample.hpp"
