#include "server/jobs/model_slots.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace znni {
namespace {

using testing::HasSubstr;

ModelSlots::Handle slot(const std::string& name, const std::string& version) {
  ModelEntry entry;
  entry.name = name;
  entry.version = version;
  return std::make_shared<ModelSlot>(entry, 4);
}

TEST(ModelSlots, AreFoundByNameAndVersion) {
  ModelSlots slots;
  slots.put(slot("a", "1"));
  slots.put(slot("b", "7"));
  EXPECT_EQ((*slots.find("b", ""))->entry().version, "7");
  EXPECT_EQ((*slots.find("b", "7"))->entry().name, "b");
  const auto wrong_version = slots.find("b", "1");
  EXPECT_EQ(wrong_version.error().code, ErrorCode::not_found);
  EXPECT_THAT(wrong_version.error().message, HasSubstr("no version '1', it serves version 7"));
  const auto unknown = slots.find("c", "");
  EXPECT_EQ(unknown.error().code, ErrorCode::not_found);
  EXPECT_THAT(unknown.error().message, HasSubstr("Request for unknown model: 'c'"));
}

TEST(ModelSlots, ANewSlotTakesThePlaceOfTheOldOneWhichItsUsersKeep) {
  ModelSlots slots;
  slots.put(slot("a", "1"));
  slots.put(slot("b", "1"));
  const ModelSlots::Handle old = *slots.find("a", "");
  slots.put(slot("a", "2"));
  ASSERT_EQ(slots.all().size(), 2U);
  EXPECT_EQ(slots.all()[0]->entry().version, "2");
  EXPECT_EQ(slots.find("a", "1").error().code, ErrorCode::not_found);
  EXPECT_EQ(old->entry().version, "1");
}

}  // namespace
}  // namespace znni
