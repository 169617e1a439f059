// The slots of all configured models, by name.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "server/jobs/model_slot.hpp"

namespace znni {

// Thread safe. A slot that was replaced lives on until its last user is done.
class ModelSlots {
 public:
  using Handle = std::shared_ptr<ModelSlot>;  // shared by the table and everybody who found it

  // Puts a slot in the place of the one that has its name, or adds it.
  void put(Handle slot);
  // Takes the slot of that name out, if there is one.
  void remove(const std::string& name);
  [[nodiscard]] std::vector<Handle> all() const;
  // Returns a model; "" is any version. Fails with not_found, "Request for unknown model: ...".
  [[nodiscard]] Result<Handle> find(const std::string& name, const std::string& version) const;

 private:
  mutable std::mutex mutex_;  // guards slots_
  std::vector<Handle> slots_;
};

}  // namespace znni
