// Lets ranks that are present into the universe (docs/decisions/0042-ranks-that-join-are-known-to-all.md).
#include <utility>

#include "universe/hub/hub_state.hpp"

namespace couplet::universe {
// A program may have become complete: lets its waiting ranks in, or all ranks if the universe is complete with it.
// Ranks that come later are let in when all others have been told of them, and when it is known that all ranks of the
// program live: a process to which such a rank speaks of another one must not count that one as lost or absent.
void HubState::release(std::int32_t program) {
  if (after_restart_.recovering || (program >= 0 && !seats_.program(program).full())) {
    return;
  }
  if (!complete_) {
    if (!seats_.required_are_present()) {
      return;
    }
    complete_ = true;
    outbox_.note({.name = "complete", .programs = seats_.infos()});
    release_all();
    return;
  }
  if (after_restart_.awaited_count > 0 && entering_.rank_in_doubt(program, seats_, absences_)) {
    return;  // it is decided soon: its place is free then, or the program is complete
  }
  if (changes_.due_ns() != UINT64_MAX) {
    entering_.with_next_batch.insert(program);
    return;
  }
  const auto waiting = entering_.waiting.find(program);
  if (waiting == entering_.waiting.end()) {
    return;
  }
  const auto connections = std::exchange(waiting->second, {});
  for (const auto& [connection, since_ns] : connections) {
    auto& client = clients_.at(connection);
    client.phase = Phase::released;
    ++released_;
    joining_.erase(connection);
    for (const auto& payload : welcome()) {
      outbox_.say(connection, payload);
    }
  }
}

void HubState::release_all() {
  release(-1);
  for (std::size_t program = 0; program < seats_.programs().size(); ++program) {
    release(static_cast<std::int32_t>(program));
  }
}

const std::vector<Payload>& HubState::welcome() {
  if (!welcome_.empty()) {
    return welcome_;
  }
  for (const auto& message : seats_.node_names(max_nodes_per_message)) {
    welcome_.push_back(payload_of(message));
  }
  const auto add = [&](std::vector<Payload> payloads) {
    std::move(payloads.begin(), payloads.end(), std::back_inserter(welcome_));
  };
  auto states = changes_.reasons();
  states.push_back({{}, seats_.runs()});
  add(encode_states(states));
  if (settings_.tells_contacts(seats_.rank_count())) {
    add(encode_contacts(seats_.contacts(0, seats_.rank_count())));
    add(encode_contacts(seats_.relay_contacts()));
  }
  welcome_.push_back(payload_of(CompleteMessage{}));
  return welcome_;
}

}  // namespace couplet::universe
