// Builds the two files of a Caffe network, for tests.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "proto/caffe.pb.h"
#include "proto/convert/caffe/caffe_reader.hpp"

namespace znni::test {

class CaffeNet {
 public:
  // The network begins with an input "in" of these extents, batch and channels counted.
  explicit CaffeNet(const std::vector<std::int64_t>& input);

  // Adds a layer; `parameters` is the text behind its bottoms and tops.
  CaffeNet& layer(std::string_view type, std::string_view name, const std::vector<std::string>& bottoms,
                  const std::vector<std::string>& tops, std::string_view parameters = "");
  // Adds a blob to the numbers of a layer. One without extents has no shape, as Caffe writes it.
  CaffeNet& blob(std::string_view layer, const std::vector<std::int64_t>& extents, const std::vector<float>& numbers);

  // Returns the network. The test fails if it is refused.
  [[nodiscard]] LoadedNetwork read() const;
  // Returns the refusal, "code: message"; "" if the network is read. `blockers` gets all of them.
  [[nodiscard]] std::string refusal(Blockers* blockers = nullptr) const;

  std::string text;
  caffe::NetParameter numbers;
};

}  // namespace znni::test
