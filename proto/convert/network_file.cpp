#include "proto/convert/network_file.hpp"

#include "proto/convert/base/read_file.hpp"
#include "proto/convert/caffe/caffe_reader.hpp"
#include "proto/convert/onnx/reader/onnx_reader.hpp"
#include "proto/convert/text/network_text.hpp"

namespace znni {
namespace {

Result<LoadedNetwork> read_unfolded(const std::string& path, const NetworkReading& reading, Blockers* blockers) {
  if (!reading.numbers.empty() && !path.ends_with(".prototxt")) {
    return Error{ErrorCode::invalid_argument, path + ": weights in a file of their own are those of a .prototxt"};
  }
  if (path.ends_with(".onnx")) return read_onnx_file(path, reading, blockers);
  if (path.ends_with(".prototxt")) return read_caffe_files(path, reading, blockers);
  if (!path.ends_with(".pbtxt")) {
    return Error{ErrorCode::invalid_argument, path + ": .onnx, .prototxt or .pbtxt is right for a network"};
  }
  if (!reading.outputs.empty()) {
    return Error{ErrorCode::invalid_argument, path + ": outputs are chosen from an .onnx or .prototxt file; name none"};
  }
  const Result<std::string> bytes = read_file(path, max_text_bytes);
  if (!bytes) return bytes.error();
  Result<Network> network = parse_network(*bytes);
  if (!network) return network.error().within(path);
  return LoadedNetwork{*std::move(network), {}};
}

}  // namespace

Result<LoadedNetwork> read_network_file(const std::string& path, const NetworkReading& reading, Blockers* blockers) {
  Result<LoadedNetwork> loaded = read_unfolded(path, reading, blockers);
  if (!loaded) return loaded;
  LoadedNetwork fused = fold_and_fuse(*std::move(loaded));
  if (const Result<void> sound = check(fused.network); !sound) return sound.error().within(path);
  return fused;
}

Result<LoadedNetwork> read_network_to_train(const std::string& path, const NetworkReading& reading) {
  Result<LoadedNetwork> loaded = read_unfolded(path, reading, nullptr);
  if (!loaded) return loaded;
  return fold_scales(*std::move(loaded));
}

}  // namespace znni
