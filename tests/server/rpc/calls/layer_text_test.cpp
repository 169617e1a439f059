#include "server/rpc/calls/layer_text.hpp"

#include <gtest/gtest.h>

namespace znni::rpc {
namespace {

ModelInfo model_of(std::vector<std::string> names) {
  ModelInfo model;
  model.layers = std::make_shared<const std::vector<std::string>>(std::move(names));
  return model;
}

TEST(LayerText, NamesLayersInTheirOrder) {
  StageSeconds stages;
  stages.add_layer(1, 0.03125);
  stages.add_layer(-1, 2);
  stages.add_layer(0, 0.5);
  stages.add_layer(0, 0.25);
  EXPECT_EQ(layer_text(model_of({"conv1", "pool1", "conv2"}), stages), "input 2 conv1 0.75 pool1 0.03125");
}

TEST(LayerText, LeavesOutWhatTookNoTime) {
  StageSeconds stages;
  stages.add_layer(1, 0.123456);
  EXPECT_EQ(layer_text(model_of({"conv1", "pool1"}), stages), "pool1 0.1235");
  EXPECT_EQ(layer_text(model_of({"conv1"}), {}), "");
}

TEST(LayerText, NeedsNamesForThem) {
  StageSeconds stages;
  stages.add_layer(0, 1);
  stages.add_layer(1, 1);
  EXPECT_EQ(layer_text(model_of({"conv1"}), stages), "conv1 1");
  EXPECT_EQ(layer_text({}, stages), "");
}

TEST(StageSeconds, AddUpLayerByLayer) {
  StageSeconds some;
  some.add_layer(0, 1);
  StageSeconds all;
  all.add_layer(2, 4);
  all += some;
  all += some;
  EXPECT_EQ(all.layers, (std::vector<Seconds>{0, 2, 0, 4}));
}

}  // namespace
}  // namespace znni::rpc
