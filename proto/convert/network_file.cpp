#include "proto/convert/network_file.hpp"

#include "proto/convert/network_text.hpp"
#include "proto/convert/onnx_reader.hpp"
#include "proto/convert/read_file.hpp"

namespace znni {
namespace {

// The bytes are gone before the net is folded: a large model is in memory once less.
Result<LoadedNetwork> read_unfolded(const std::string& path) {
  const bool is_text = path.ends_with(".pbtxt");
  if (!is_text && !path.ends_with(".onnx")) {
    return Error{ErrorCode::invalid_argument, path + ": .onnx or .pbtxt is right for a network"};
  }
  const Result<std::string> bytes = read_file(path, is_text ? most_text_bytes : most_model_bytes);
  if (!bytes) return bytes.error();
  if (!is_text) {
    Result<LoadedNetwork> loaded = read_onnx_bytes(*bytes, path);
    if (!loaded) return loaded.error().within(path);
    return loaded;
  }
  Result<Network> network = parse_network(*bytes);
  if (!network) return network.error().within(path);
  return LoadedNetwork{*std::move(network), {}};
}

}  // namespace

Result<LoadedNetwork> read_network_file(const std::string& path) {
  Result<LoadedNetwork> loaded = read_unfolded(path);
  if (!loaded) return loaded;
  return fold_and_fuse(*std::move(loaded));
}

}  // namespace znni
