// The parts that tests of a ModelServer share: a network, a repository for it in a temporary directory, and the
// server's log.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "server/jobs/model_server_impl.hpp"
#include "tests/server/jobs/wait_until.hpp"
#include "tests/server/models/onnx_file.hpp"
#include "tests/server/pipeline/oracle_primitive.hpp"
#include "tests/server/pipeline/random_network.hpp"
#include "tests/support/temporary.hpp"

namespace znni::test {

class ServedRepository : public testing::Test {
 protected:
  void add_network(const std::string& name, const std::string& version = "1") {
    write_model(directory_.path(), name, version, onnx_text(network_, weights_));
  }

  // Makes a parameter all that the model's configuration has.
  void write_parameter(const std::string& name, const std::string& parameter, const std::string& value) {
    directory_.write(name + "/config.pbtxt",
                     "parameters { key: \"" + parameter + "\" value { string_value: \"" + value + "\" } }");
  }

  // Returns options for host memory and the smallest messages, so that the models have most of it.
  ServerOptions server_options(std::int64_t memory, Catalogue catalogue) {
    ServerOptions options;
    options.repository = directory_.path();
    options.limits = {memory, 1, 8};
    options.catalogue = std::move(catalogue);
    options.open_device = [](std::int64_t budget) -> Result<std::unique_ptr<Device>> { return host_device(budget); };
    options.log = [this](std::string_view level, const std::string& line) {
      const std::lock_guard lock(log_mutex_);
      log_ += std::string(level) + ": " + line + "\n";
    };
    return options;
  }

  // Returns the server once every model is loaded or given up.
  static std::unique_ptr<ModelServer> settled(Result<std::unique_ptr<ModelServer>> server) {
    ensure(server.has_value(), server ? "" : server.error().message);
    const auto loads = [](const ModelInfo& model) { return model.state == ModelState::loading; };
    EXPECT_TRUE(wait_until([&] {
      const std::vector<ModelInfo> models = (*server)->models();
      return std::none_of(models.begin(), models.end(), loads);
    }));
    return std::move(*server);
  }

  std::string log() {
    const std::lock_guard lock(log_mutex_);
    return log_;
  }

  const TemporaryDirectory directory_;
  const Network network_ = simple_network(1);
  const NetworkWeights weights_ = random_weights(network_, 3);
  Random random_{5};

 private:
  std::mutex log_mutex_;
  std::string log_;
};

}  // namespace znni::test
