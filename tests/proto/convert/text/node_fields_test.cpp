#include "proto/convert/text/node_fields.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace znni {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(NodeFields, ExtentsAreOneValueOrOnePerAxis) {
  text::Pooling pool;
  EXPECT_EQ(*extent_or("window", pool.window(), 3, {4, 5, 6}), (Vec3{4, 5, 6}));
  set_extent(pool.mutable_window(), {1, 3, 3}, 2);
  EXPECT_THAT(pool.window(), ElementsAre(3)) << "z is no axis of the network";
  EXPECT_EQ(*extent_or("window", pool.window(), 2, {}), (Vec3{1, 3, 3}));
  pool.clear_window();
  set_extent(pool.mutable_window(), {1, 3, 3}, 3);
  EXPECT_THAT(pool.window(), ElementsAre(1, 3, 3));
  EXPECT_THAT(extent_or("window", pool.window(), 2, {}).error().message, HasSubstr("window has 3 values"));
}

TEST(NodeFields, EndsAreZeroWhereTheFileHasNone) {
  text::Border border;
  EXPECT_EQ(*ends_of(border, 3), Border{});
  border.add_end(2);
  EXPECT_EQ(*ends_of(border, 2), (Border{{}, {0, 2, 2}}));
  text::Border written;
  set_ends(written, Border{{}, {0, 2, 2}}, 2);
  EXPECT_THAT(written.begin(), ElementsAre());
  EXPECT_THAT(written.end(), ElementsAre(2));
  border.add_begin(1);
  border.add_begin(2);
  EXPECT_THAT(ends_of(border, 3).error().message, HasSubstr("begin has 2 values; 1 or 3 are right"));
}

TEST(NodeFields, PadsAreBounded) {
  text::Convolution conv;
  conv.add_pad_begin(std::int64_t{1} << 20);
  EXPECT_EQ(*pads_around(conv, 1), (Border{{0, 0, std::int64_t{1} << 20}, {}}));
  conv.add_pad_end(-1);
  EXPECT_THAT(pads_around(conv, 3).error().message, HasSubstr("pad_end is -1x-1x-1; 0 to 2^20 is right"));
  conv.set_pad_begin(0, (std::int64_t{1} << 20) + 1);
  EXPECT_THAT(pads_around(conv, 3).error().message, HasSubstr("pad_begin is 1048577x1048577x1048577"));
}

TEST(NodeFields, AnUsualAlphaIsLeftOut) {
  text::Add sum;
  EXPECT_EQ(fused_activation_of(sum), Activation{});
  set_fused_activation(sum, {});
  EXPECT_FALSE(sum.has_activation());
  set_fused_activation(sum, {ActivationKind::elu, 1.0F});
  EXPECT_FALSE(sum.has_alpha());
  EXPECT_EQ(fused_activation_of(sum), (Activation{ActivationKind::elu, 1.0F}));
  set_fused_activation(sum, {ActivationKind::leaky_relu, 0.5F});
  EXPECT_EQ(sum.alpha(), 0.5F);
  EXPECT_EQ(fused_activation_of(sum), (Activation{ActivationKind::leaky_relu, 0.5F}));
}

}  // namespace
}  // namespace znni
