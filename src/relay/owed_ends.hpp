// The ends of holds that no relay has confirmed yet.
//
// A hold is in its writer's file, and outlives the relay that has taken it. If a relay dies before it has read that a
// reader has closed, the hold would stay, and the writer would wait for a reader that reads nothing. So each relay that
// comes next is told again, until one says that the hold has ended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/retry.hpp"
#include "relay/line.hpp"
#include "relay/posts.hpp"
#include "wire/relay_messages.hpp"

namespace couplet::relay {

class OwedEnds {
 public:
  // Outlives the ends.
  explicit OwedEnds(Posts& posts) : posts_(posts) {}

  // Subscription `number`, which was made with `selection`, has ended. line: to its relay.
  void add(const Line& line, std::uint32_t number, const wire::Subscribe& selection);
  // Tells the relays that are there. Never blocks.
  void send();
  struct Owed {
    const Line& line;
    std::uint64_t unanswered_ns;  // for how long the relay that is there has not confirmed any end
  };
  // Says what is known of the relay that has to confirm the end of subscription `number`. Nothing: it has.
  [[nodiscard]] std::optional<Owed> owed(std::uint32_t number) const;
  // The relay has ended the hold.
  void confirmed(channel::PeerId server, std::uint32_t number);
  void lost(const channel::Channel& channel, const Status& why);

 private:
  struct End {
    std::uint32_t number = 0;
    std::vector<std::byte> selection;
    bool told = false;
  };
  struct Server {
    explicit Server(const Line& its_line) : line(its_line) {}
    Line line;
    LookedTime unanswered;
    std::vector<End> ends;
  };

  static void tell(Posts& posts, Server& server);

  Posts& posts_;
  std::map<channel::PeerId, Server> servers_;
};

}  // namespace couplet::relay
