// Starts the relay of a node: where nothing else does it, the first writer rank of the node.
#pragma once

#include <string>
#include <vector>

#include "base/status.hpp"
#include "message/group.hpp"
#include "universe/join.hpp"
#include "universe/membership.hpp"

namespace couplet::runtime {

enum class RelayMode : std::uint8_t {
  automatic,  // a writer starts one where readers are, or may come, on other nodes
  external,   // couplet run, a batch script or the user starts one per node
  in_calls,   // writers push inside their own calls
  none,
};
// Setting `relay`: auto, external, in_calls, none. config error for anything else.
Result<RelayMode> relay_mode(const universe::Membership& membership);

// The path of a helper program of this installation; not_found says where it was looked for.
Result<std::string> find_helper(const std::string& name);

class RelayStart {
 public:
  RelayStart(universe::Membership& membership, universe::JoinWishes wishes)
      : membership_(membership), wishes_(std::move(wishes)) {}

  // Called by all ranks of `writers` once they have a series: the first one on each node starts a relay where one is needed
  // and not there. A relay that another has started meanwhile is as good: the hub takes one of them.
  Status for_writers(const message::Group& writers);
  // The node's relay is lost: starts another one, where this process had started that, a few times.
  Status again(channel::PeerId lost);
  // A relay was started and has not come yet. Until it is in the node directory, that goes with the last member of the node,
  // and with it what is retained for readers on other nodes.
  [[nodiscard]] bool awaited() const;

 private:
  [[nodiscard]] bool needed() const;
  [[nodiscard]] bool first_on_node(const message::Group& writers) const;
  Status start();

  universe::Membership& membership_;
  universe::JoinWishes wishes_;
  int started_ = 0;
};

}  // namespace couplet::runtime
