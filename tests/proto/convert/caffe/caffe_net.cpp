#include "tests/proto/convert/caffe/caffe_net.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace znni::test {

CaffeNet::CaffeNet(const std::vector<std::int64_t>& input) {
  text = "name: \"net\"\nlayer { name: \"in\" type: \"Input\" top: \"in\" input_param { shape {";
  for (const std::int64_t extent : input) text += " dim: " + std::to_string(extent);
  text += " } } }\n";
}

CaffeNet& CaffeNet::layer(std::string_view type, std::string_view name, const std::vector<std::string>& bottoms,
                          const std::vector<std::string>& tops, std::string_view parameters) {
  text += "layer { name: \"" + std::string(name) + "\" type: \"" + std::string(type) + "\"";
  for (const std::string& bottom : bottoms) text += " bottom: \"" + bottom + "\"";
  for (const std::string& top : tops) text += " top: \"" + top + "\"";
  text += " " + std::string(parameters) + " }\n";
  return *this;
}

CaffeNet& CaffeNet::blob(std::string_view layer, const std::vector<std::int64_t>& extents,
                         const std::vector<float>& values) {
  auto& layers = *numbers.mutable_layer();
  const auto found = std::find_if(layers.begin(), layers.end(),
                                  [&](const caffe::LayerParameter& known) { return known.name() == layer; });
  caffe::LayerParameter& own = found == layers.end() ? *numbers.add_layer() : *found;
  own.set_name(std::string(layer));
  caffe::BlobProto& blob = *own.add_blobs();
  for (const std::int64_t extent : extents) blob.mutable_shape()->add_dim(extent);
  for (const float value : values) blob.add_data(value);
  return *this;
}

LoadedNetwork CaffeNet::read() const {
  Result<LoadedNetwork> loaded = read_caffe(text, numbers, "net.caffemodel");
  EXPECT_TRUE(loaded) << loaded.error().message;
  return loaded ? *std::move(loaded) : LoadedNetwork();
}

std::string CaffeNet::refusal(Blockers* blockers) const {
  const Result<LoadedNetwork> loaded = read_caffe(text, numbers, "net.caffemodel", {}, blockers);
  return loaded ? "" : std::string(to_string(loaded.error().code)) + ": " + loaded.error().message;
}

}  // namespace znni::test
