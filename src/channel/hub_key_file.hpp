// hub_key_file: the file with the seed of a hub's key, for a hub that is started again. Turns a path into a key that
// one living hub has (docs/formats/node-directory.md, "The key of the hub"). Used by universe/hub. Below: identity,
// secret, os. Invariants: a file that is there is never replaced, followed or removed, except that a hub removes the
// very file that it has made or taken over; the file is locked for as long as its hub lives; it appears complete.
// Tests: tests/unit/channel/hub_key_file_test.cpp, tests/universe/test_hub_key.py.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.hpp"
#include "channel/identity.hpp"
#include "os/descriptor.hpp"

namespace couplet::channel {

class HubKeyFile {
 public:
  // Writes the key to a new file with mode 0600, and locks it. Errors: exists, with a text that says whose key it is
  // and what to do, or that it is no key; system, if it cannot be written.
  static Result<std::unique_ptr<HubKeyFile>> make(const std::string& path, const HubKey& key);
  // Reads the key of this run, and locks its file. Changes nothing. Errors: config, with a text that says what to do,
  // if the file does not exist, has no key, or has that of another run; exists, if a hub of the run lives: the text
  // names it; authentication, if the file belongs to another user or others may read it.
  static Result<std::unique_ptr<HubKeyFile>> take_over(const std::string& path, std::uint64_t run_id);
  ~HubKeyFile() = default;
  HubKeyFile(const HubKeyFile&) = delete;
  HubKeyFile& operator=(const HubKeyFile&) = delete;

  [[nodiscard]] const HubKey& key() const noexcept { return key_; }
  // Returns false if the file system of the file has no locks: a second hub of the run cannot be noticed then.
  [[nodiscard]] bool is_locked() const noexcept { return locked_; }
  // Writes down which process has the key, for the texts that others show.
  void name_holder(std::string_view text) const noexcept;
  // Removes the file, if it still has its name.
  void remove() const noexcept;

 private:
  HubKeyFile(std::string path, const HubKey& key, os::Descriptor file, bool locked)
      : path_(std::move(path)), key_(key), file_(std::move(file)), locked_(locked) {}

  std::string path_;
  HubKey key_;
  os::Descriptor file_;
  bool locked_;
};

}  // namespace couplet::channel
