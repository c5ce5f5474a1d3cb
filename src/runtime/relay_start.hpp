// Starts the relay of a node in the first writer rank of the node, if nothing else does.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "engine/engine.hpp"
#include "message/group.hpp"
#include "os/descriptor.hpp"
#include "universe/join.hpp"
#include "universe/membership.hpp"

namespace couplet::runtime {

enum class RelayMode : std::uint8_t {
  automatic,  // a writer starts one if readers are, or may come, on other nodes
  external,   // couplet run, a batch script or the user starts one on each node
  in_calls,   // writers send inside their own calls
  none,
};
// Returns the setting `relay`: auto, external, in_calls or none. Anything else is a config error.
Result<RelayMode> relay_mode(const universe::Membership& membership);

// Returns the path of a helper program of this installation, or not_found, which says where it was expected.
Result<std::string> find_helper(const std::string& name);

// A relay that ends before it has joined is not known to the hub. So it and its keeper inherit an end of a pipe, which
// the kernel closes when both have ended. This class looks at the other end until the relay has joined.
class RelayStart final : public engine::Source {
 public:
  // `engine` outlives this object.
  // Shows the user a text.
  using Note = void (*)(const std::string&);
  RelayStart(universe::Membership& membership, engine::Engine& engine, universe::JoinRequest request, Note note);
  ~RelayStart() override;
  RelayStart(const RelayStart&) = delete;
  RelayStart& operator=(const RelayStart&) = delete;

  // Called by all ranks of `writers` once they have a series. The first rank that is left on each node starts a relay
  // as soon as one is needed and not there. If another process has started one meanwhile, the hub accepts one of them.
  Status for_writers(const message::Group& writers);
  // The node's relay is lost: starts another one if this process had started that one, a few times.
  Status again(channel::PeerId lost);
  // Returns true if a relay was started, has not come yet, and has not ended. Until it is in the node directory, the
  // directory is removed with the last member of the node, and with it the steps that are kept for readers on other
  // nodes.
  [[nodiscard]] bool awaited() const;

  int poll(std::uint64_t /*now_ns*/, int /*budget*/) override { return 0; }
  [[nodiscard]] bool ready() const override { return false; }
  // Starts a relay if one is needed only now, and another one if the one that was started has ended before it has
  // joined.
  void tick(std::uint64_t now_ns) override;

 private:
  [[nodiscard]] bool present() const;
  [[nodiscard]] bool needed() const;
  [[nodiscard]] bool lacks_first() const;
  [[nodiscard]] bool is_first() const;
  [[nodiscard]] bool is_present(channel::PeerId peer) const;
  Status start();

  universe::Membership& membership_;
  engine::Engine& engine_;
  universe::JoinRequest request_;
  Note note_;
  bool expects_others_ = false;  // ranks that have not joined yet may come on other nodes
  // For each series that this process writes: the writers of lower rank on its node.
  std::set<std::vector<channel::PeerId>> earlier_;
  int started_ = 0;
  // Is open until the relay that was started last has joined, or has ended without that.
  os::Descriptor pipe_end_;
  bool has_ended_ = false;
  bool lacks_something_ = false;  // the last start failed, for example for lack of descriptors: each tick tries again
};

}  // namespace couplet::runtime
