// Names of refused parts of a network in the words of its author, and advice on what to do about them. Nothing
// here decides what is supported: onnx_operators() and the functions that convert nodes do.
#pragma once

#include <string>
#include <string_view>

#include "proto/convert/onnx/graph/onnx_graph.hpp"

namespace znni {

struct OnnxWords {
  std::string what;
  std::string advice;       // "" where there is no general one
  bool keeps_form = false;  // the output has the extents and channels of the first input
  bool is_kind = false;     // `what` says why, too: refusals of other words are of the same kind
};

// Returns the words for an operator that is not supported; its name where there are no better ones.
[[nodiscard]] OnnxWords words_of_operator(std::string_view name);
// Returns the words for a module that multiplies channels by what it computes of their means.
[[nodiscard]] OnnxWords words_of_excitation();
// Returns the words for a module that transposes parts of axes.
[[nodiscard]] OnnxWords words_of_shuffle();
// Returns the words for an InstanceNorm that is written as a batch normalisation in training mode.
[[nodiscard]] OnnxWords words_of_traced_norm();
// Returns the words for a node of a supported operator that was refused with `message`.
[[nodiscard]] OnnxWords words_of_refusal(const onnx::NodeProto& node, std::string_view message);
// Returns the words for a network that was refused with `message`.
[[nodiscard]] OnnxWords words_of_network(std::string_view message);
// Return the words for what a file computes from shapes, and from constants.
[[nodiscard]] OnnxWords words_of_shapes();
[[nodiscard]] OnnxWords words_of_constants();

}  // namespace znni
