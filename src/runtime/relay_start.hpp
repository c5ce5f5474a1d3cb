// Starts the relay of a node in the first writer rank of the node, if nothing else does.
#pragma once

#include <string>
#include <vector>

#include "base/status.hpp"
#include "engine/engine.hpp"
#include "message/group.hpp"
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

class RelayStart {
 public:
  RelayStart(universe::Membership& membership, universe::JoinWishes wishes)
      : membership_(membership), wishes_(std::move(wishes)) {}

  // Called by all ranks of `writers` once they have a series. The first rank on each node starts a relay if one is
  // needed and not there. If another process has started one meanwhile, the hub accepts one of them.
  Status for_writers(const message::Group& writers);
  // The node's relay is lost: starts another one if this process had started that one, a few times.
  Status again(channel::PeerId lost);
  // Lets a process that has started the relay hear of its loss, at most every 0.1 s, so that another one is started
  // (again() is called for a loss). Otherwise it costs a look at the clock.
  void look(engine::Engine& engine);
  // Returns true if a relay was started and has not come yet. Until it is in the node directory, the directory is
  // removed with the last member of the node, and with it the steps that are kept for readers on other nodes.
  [[nodiscard]] bool awaited() const;

 private:
  [[nodiscard]] bool needed() const;
  [[nodiscard]] bool first_on_node(const message::Group& writers) const;
  Status start();

  universe::Membership& membership_;
  universe::JoinWishes wishes_;
  int started_ = 0;
  std::uint64_t next_look_ns_ = 0;
};

}  // namespace couplet::runtime
