// Dense networks that are written for whole volumes: poolings of stride 1, max filters, and behind them windows that
// are dilated. They are the dense form of a network that pools with strides. That one is computed faster, as fragments
// (PoolMode), whose windows are not dilated.
#pragma once

#include "planner/network/network.hpp"

namespace znni {

// Gives poolings the strides by which all that is behind them is dilated, and takes these dilations away, axis by axis:
// a pooling of stride s and convolutions of dilation t d become a pooling of stride t s and convolutions of dilation d.
// t is at most the pooling's window. At every position of its window the network is what it was. Only poolings change
// through which all the rest of the network reads. Leaves networks that pad, have strides of their own or are bound to
// their window. Requires check().
void pool_for_dilations(Network& network);

}  // namespace znni
