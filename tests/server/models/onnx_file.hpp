// Writes networks with their weights as ONNX files: model repositories for tests.
#pragma once

#include <filesystem>

#include "planner/network/network.hpp"

namespace znni::test {

// Returns the text of a net of convolutions (ReLU or no activation), poolings, activations relu and sigmoid, additions,
// concatenations, normalisations of each channel.
// The text is a serialised ModelProto of opset 13 that read_network_file() turns back into the same net.
[[nodiscard]] std::string onnx_text(const Network& network, const NetworkWeights& weights);

// Writes DIR/<model>/<version>/model.onnx.
void write_model(const std::filesystem::path& repository, const std::string& model, const std::string& version,
                 const std::string& text);

}  // namespace znni::test
