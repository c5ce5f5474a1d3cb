// The ends of holds that no relay has confirmed yet.
//
// A hold is in its writer's file, and outlives the relay that has taken it. If a relay dies before it has read that a
// reader has closed, the hold would stay, and the writer would wait for a reader that reads nothing. So each relay that
// comes next is told again, until one says that the hold has ended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <vector>

#include "base/retry.hpp"
#include "relay/line.hpp"
#include "relay/posts.hpp"
#include "wire/relay_messages.hpp"

namespace couplet::relay {

class OwedEnds {
 public:
  // For a process that reads what other nodes write for a long time, while their relays never come back.
  static constexpr std::size_t most_ends = 4096;

  // The end of subscription `number`, which was made with `selection`.
  struct End {
    std::uint32_t number = 0;
    std::vector<std::byte> selection;
    bool told = false;
  };
  // What a hold needs to end, made when it begins: a destructor must not need memory.
  struct Server {
    std::optional<Line> line;
    LookedTime unanswered;
    std::list<End> ends;
  };
  struct Prepared {
    Prepared(std::uint32_t number, const wire::Subscribe& selection);
    std::list<End> end;        // one entry
    std::list<Server> server;  // one entry, for the first end of a relay
  };

  // Outlives the ends.
  explicit OwedEnds(Posts& posts) : posts_(posts) {}

  // The hold has ended. line: to its relay. Afterwards send() tells the relay. If there are too many ends for this
  // relay, the oldest one is dropped.
  void add(Line&& line, Prepared& prepared) noexcept;
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
  void tell(Server& server);

  Posts& posts_;
  std::list<Server> servers_;
};

}  // namespace couplet::relay
