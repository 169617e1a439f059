#include "server/jobs/model_loading.hpp"

#include <gmock/gmock.h>

#include "tests/server/jobs/served_repository.hpp"

namespace znni {
namespace {

using testing::HasSubstr;

class ModelLoadingTest : public test::ServedRepository {
 protected:
  static constexpr std::int64_t bytes = std::int64_t{16} << 20;

  ModelLoadingTest() {
    const Backend* const rows[] = {&test::oracle_backend()};
    options_ = server_options(bytes, Catalogue::make(rows).value());
    shared_.device = options_.open_device(bytes).value();
    loading_ = std::make_unique<ModelLoading>(options_, bytes, shared_, retired_);
  }

  std::unique_ptr<ModelSlot> slot_of(const std::string& name) {
    const std::vector<ModelEntry> entries = scan_repository(directory_.path()).value();
    const auto found = std::ranges::find(entries, name, &ModelEntry::name);
    return std::make_unique<ModelSlot>(*found, 8);
  }

  ServerOptions options_;
  SharedDevice shared_;
  std::atomic<bool> retired_ = false;
  std::unique_ptr<ModelLoading> loading_;
};

TEST_F(ModelLoadingTest, PlanningTakesNothing) {
  add_network("net");
  const std::unique_ptr<ModelSlot> slot = slot_of("net");
  const Result<PlannedModel> planned = loading_->plan(*slot, bytes, {});
  ASSERT_TRUE(planned) << planned.error().message;
  EXPECT_LE(planned->plan.memory.total(), bytes);
  EXPECT_EQ(loading_->bytes_left(), bytes);
  EXPECT_EQ(slot->info().state, ModelState::loading);
}

TEST_F(ModelLoadingTest, WhatServesTakesItsMemoryUntilItIsFreed) {
  add_network("net");
  const std::unique_ptr<ModelSlot> slot = slot_of("net");
  ASSERT_TRUE(loading_->load(*slot, bytes / 2, {}));
  const std::int64_t first = slot->info().number;
  EXPECT_EQ(slot->info().state, ModelState::ready);
  EXPECT_EQ(loading_->bytes_left(), bytes - slot->info().memory.total());
  ASSERT_TRUE(loading_->free(*slot, ModelState::unloaded, {}));
  EXPECT_EQ(loading_->bytes_left(), bytes);
  EXPECT_EQ(slot->info().state, ModelState::unloaded);
  ASSERT_TRUE(loading_->free(*slot, ModelState::unloaded, {})) << "it has nothing any more";
  ASSERT_TRUE(loading_->load(*slot, bytes / 2, {}));
  EXPECT_GT(slot->info().number, first);
}

TEST_F(ModelLoadingTest, AModelInUseIsNotFreedWhenStopped) {
  add_network("net");
  const std::unique_ptr<ModelSlot> slot = slot_of("net");
  ASSERT_TRUE(loading_->load(*slot, bytes, {}));
  const Result<std::shared_ptr<LoadedModel>> used = slot->model();
  ASSERT_TRUE(used);
  std::stop_source stop;
  stop.request_stop();
  const Result<void> freed = loading_->free(*slot, ModelState::loading, stop.get_token());
  ASSERT_FALSE(freed);
  EXPECT_EQ(freed.error().code, ErrorCode::cancelled);
  EXPECT_EQ(slot->info().state, ModelState::ready);
  EXPECT_TRUE(slot->info().expected);
}

TEST_F(ModelLoadingTest, WhatCannotBeLoadedIsUnavailableForItsReason) {
  directory_.write("broken/1/model.onnx", "no model");
  add_network("net");
  const std::unique_ptr<ModelSlot> broken = slot_of("broken");
  EXPECT_FALSE(loading_->load(*broken, bytes, {}));
  EXPECT_THAT(broken->info().reason, HasSubstr("model.onnx"));
  EXPECT_THAT(log(), HasSubstr("error: model 'broken' is unavailable: "));
  const std::unique_ptr<ModelSlot> slot = slot_of("net");
  const Error no_share{ErrorCode::over_budget, "nothing is left"};
  EXPECT_FALSE(loading_->load(*slot, no_share, {}));
  EXPECT_EQ(slot->info().reason, "nothing is left");
  EXPECT_EQ(loading_->bytes_left(), bytes);
}

}  // namespace
}  // namespace znni
